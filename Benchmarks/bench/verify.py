"""Compares the stored files with their sources."""

from __future__ import annotations

import filecmp
import os
from pathlib import Path

# The server's own folder.
_PRIVATE = ".transfer"


def difference(source: Path, target: Path) -> str | None:
    """The first difference between two trees, as a sentence, or None if names and bytes are equal."""
    sent, arrived = _names(source), _names(target)
    if missing := sent - arrived:
        return f"{len(missing)} of {len(sent)} files did not arrive, such as {min(missing)}"
    if surplus := arrived - sent:
        return f"{len(surplus)} files too many, such as {min(surplus)}"
    filecmp.clear_cache()
    for name in sorted(sent):
        if not filecmp.cmp(source / name, target / name, shallow=False):
            return f"{name} arrived with other bytes"
    return None


def _names(root: Path) -> set[str]:
    names: set[str] = set()
    for where, directories, files in os.walk(root):
        if Path(where) == root and _PRIVATE in directories:
            directories.remove(_PRIVATE)
        names.update(os.path.relpath(os.path.join(where, file), root) for file in files)
    return names
