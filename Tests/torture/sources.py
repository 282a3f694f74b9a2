"""The files that a round pushes."""

from __future__ import annotations

import random
import shutil
from dataclasses import dataclass
from pathlib import Path

from . import content, names

# Bytes of one set at most, so that a round stays short.
_MOST = 24 * content.MIB

# Percentage of sets with a file that is sent in parts.
_HUGE = 4

# Percentage of sets with directories of so many files that a client asks about each directory as a whole.
_TREES = 35


@dataclass(frozen=True)
class File:
    """The current state of one file."""

    size: int
    digest: str


class Sources:
    """A directory of files, made from a seed."""

    def __init__(self, directory: Path, source: random.Random, huge: bool | None = None) -> None:
        self.directory = directory
        self.files: dict[str, File] = {}
        self._source = source
        self._made = 0
        shutil.rmtree(directory, ignore_errors=True)
        directory.mkdir(parents=True)
        self._huge = source.randrange(100) < _HUGE if huge is None else huge
        count = source.choice([1, 2, 5, 10, 20, 40, 80])
        for _ in range(count):
            self._add()
        if source.randrange(100) < _TREES:
            self._add_tree()
        if self._huge and self.longest < content.PARTS:
            self.lengthen(source.randint(40 * content.MIB, 100 * content.MIB))

    @property
    def bytes(self) -> int:
        return sum(file.size for file in self.files.values())

    @property
    def longest(self) -> int:
        return max((file.size for file in self.files.values()), default=0)

    @property
    def long_count(self) -> int:
        """The number of files that a server receives under separate names."""
        return sum(file.size > content.BLOCK for file in self.files.values())

    def fill(self, count: int) -> None:
        """Adds some files of several blocks."""
        for _ in range(count):
            self._write(names.name(self._next(), self._source), self._source.randint(content.BLOCK, 3 * content.BLOCK))

    def lengthen(self, size: int) -> None:
        """Adds a file of so many bytes."""
        self._write(names.name(self._next(), self._source), size)

    def forget(self, path: str) -> None:
        """Removes a file."""
        (self.directory / path).unlink()
        del self.files[path]

    def change(self) -> None:
        """Changes some files, adds one, and removes one."""
        paths = sorted(self.files)
        for path in self._source.sample(paths, max(1, len(paths) // 3)):
            same = self._source.random() < 0.5
            self._write(path, self.files[path].size if same else content.size(self._source, huge=False))
        if len(paths) > 2 and self._source.random() < 0.5:
            path = self._source.choice(paths)
            self.forget(path)
        self._add()

    def _next(self) -> int:
        self._made += 1
        return self._made

    def _add(self) -> None:
        size = content.size(self._source, huge=False)
        if self.bytes + size > _MOST:
            size = self._source.randint(0, 8 * content.KIB)
        path = names.directory(self._source) + names.name(self._next(), self._source)
        self._write(path, size)

    def _add_tree(self) -> None:
        top = names.directory(self._source)
        for folder in range(self._source.randint(2, 5)):
            for _ in range(self._source.randint(8, 16)):
                path = f"{top}folder {folder}/{names.name(self._next(), self._source)}"
                self._write(path, self._source.randint(1, 4 * content.KIB))

    def _write(self, path: str, size: int) -> None:
        data = content.make(size, self._source)
        place = self.directory / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(data)
        self.files[path] = File(size, content.digest(data))
