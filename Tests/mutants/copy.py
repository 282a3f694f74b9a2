"""The copy of the project that contains the mutants."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

from .mutant import Mutant
from .placing import SWITCH, SWITCH_FILE, place

_LEFT_OUT = {".build", ".git", "storage", "__pycache__"}

# A mutant may leave a value unused or a variable unchanged, which is a warning.
_STRICT = ".treatAllWarnings(as: .error),"


def update(project: Path, copy: Path, mutants: Sequence[Mutant]) -> None:
    """Updates the copy to the project's state with all mutants. Files that are already equal stay untouched, so that
    the build compiles only what changed.

    Raises PlacingError if a mutant does not fit its file.
    """
    wanted = {path: _content(project, path, mutants) for path in _files(project)}
    for mutant in mutants:
        if mutant.file not in wanted:
            raise FileNotFoundError(f"mutant {mutant.number}: there is no {mutant.file}")
    wanted[SWITCH_FILE] = SWITCH.encode()
    copy.mkdir(parents=True, exist_ok=True)
    for path in _files(copy):
        if path not in wanted:
            (copy / path).unlink()
    for path, content in wanted.items():
        _write(copy / path, content)
        if (project / path).exists():
            shutil.copymode(project / path, copy / path)


def _content(project: Path, path: str, mutants: Sequence[Mutant]) -> bytes:
    content = (project / path).read_bytes()
    here = [mutant for mutant in mutants if mutant.file == path]
    if here:
        return place(content.decode(), here).encode()
    if path == "Package.swift":
        return content.decode().replace(_STRICT, "").encode()
    return content


def _files(root: Path) -> Iterator[str]:
    for directory, names, files in os.walk(root):
        names[:] = [name for name in names if name not in _LEFT_OUT]
        for name in files:
            yield str((Path(directory) / name).relative_to(root))


def _write(path: Path, content: bytes) -> None:
    if path.is_file() and path.read_bytes() == content:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
