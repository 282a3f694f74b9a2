"""A directory with everything that a tree can contain, made and changed from a seed."""

from __future__ import annotations

import os
import random
import shutil
import stat
from collections.abc import Callable
from pathlib import Path

from . import content, names

# Bytes of one tree at most, so that a round stays short.
_MOST = 16 * content.MIB

# Percentage of trees with a file that is sent in parts.
_HUGE = 3

# Times in seconds to start from; each use adds nanoseconds that no other entry has.
_TIMES = [1, 86_400, 1_000_000_000, 1_234_567_890, 1_700_000_000, 2_000_000_000, 4_102_444_800]

# Targets of links: missing, circular, outside the tree, and similar to a server's address.
_TARGETS = [".", "..", "nowhere", "../../nowhere", "/etc/passwd", "/dev/null", "a b\nc", "x" * 255, "./", "host:/path"]

_MODES = [0o644, 0o600, 0o444, 0o755, 0o777, 0o640, 0o700]
_FOLDER_MODES = [0o755, 0o700, 0o777, 0o750, 0o711]


class Grove:
    """A directory, without any other record: each change reads the present state from disk."""

    def __init__(self, directory: Path, source: random.Random) -> None:
        self.directory = directory
        self._source = source
        self._made = 0
        shutil.rmtree(directory, ignore_errors=True)
        directory.mkdir(parents=True)
        self._has_attributes = _keeps_attributes(directory)
        for _ in range(source.choice([0, 1, 3, 8, 20, 20, 40])):
            self._grow()
        # A sync from a source without files would remove nothing.
        self._add_file()
        if source.randrange(100) < _HUGE:
            self._write(self._free(""), source.randint(40 * content.MIB, 60 * content.MIB))

    def change(self, count: int) -> None:
        """Makes that many changes of any kind."""
        kinds = self._changes
        for _ in range(count):
            self._source.choices([kind for kind, _ in kinds], [weight for _, weight in kinds])[0]()
        if not self._files:
            self._add_file()

    @property
    def _changes(self) -> list[tuple[Callable[[], None], int]]:
        return [
            (self._grow, 6),
            (self._rewrite, 5),
            (self._rename, 6),
            (self._remove, 5),
            (self._replace, 5),
            (self._dress_one, 4),
            (self._swap, 2),
            (self._link_hard, 2),
            (self._part, 2),
            (self._copy, 1),
        ]

    # Present entries

    @property
    def _paths(self) -> list[str]:
        found = []
        for parent, folders, files in os.walk(self.directory):
            found += [os.path.relpath(os.path.join(parent, name), self.directory) for name in folders + files]
        return sorted(found)

    @property
    def _files(self) -> list[str]:
        return [path for path in self._paths if stat.S_ISREG(self._status(path).st_mode)]

    @property
    def _folders(self) -> list[str]:
        return ["", *(path for path in self._paths if stat.S_ISDIR(self._status(path).st_mode))]

    @property
    def _bytes(self) -> int:
        return sum(self._status(path).st_size for path in self._files)

    def _status(self, path: str) -> os.stat_result:
        return os.lstat(self.directory / path)

    def _free(self, folder: str) -> str:
        """A name that was never used before."""
        self._made += 1
        name = names.name(self._made, self._source)
        return f"{folder}/{name}" if folder else name

    def _somewhere(self) -> str:
        """A folder that is not too deep."""
        folders = [path for path in self._folders if path.count("/") < 5 and len(path.encode()) < 2000]
        return self._source.choice(folders)

    # Changes

    def _grow(self) -> None:
        kind = self._source.choices([self._add_file, self._add_folder, self._add_link, self._link_hard], [6, 3, 2, 1])[0]
        kind()

    def _add_file(self) -> None:
        self._write(self._free(self._somewhere()), self._size())

    def _add_folder(self) -> None:
        self._make_folder(self._free(self._somewhere()))

    def _add_link(self) -> None:
        self._make_link(self._free(self._somewhere()))

    def _link_hard(self) -> None:
        """Adds a hard link to a file. The file can have several already."""
        if files := self._files:
            path = self._free(self._somewhere())
            os.link(self.directory / self._source.choice(files), self.directory / path)

    def _rewrite(self) -> None:
        """Writes other content, in place or under a new inode."""
        if files := self._files:
            path = self._source.choice(files)
            size = self._status(path).st_size if self._source.random() < 0.4 else self._size()
            if self._source.random() < 0.5 or not os.access(self.directory / path, os.W_OK):
                (self.directory / path).unlink()
            self._write(path, size)

    def _rename(self) -> None:
        if not (paths := self._paths):
            return
        path = self._source.choice(paths)
        folder = self._somewhere()
        if folder == path or folder.startswith(f"{path}/"):
            return
        os.rename(self.directory / path, self.directory / self._free(folder))

    def _remove(self) -> None:
        if paths := self._paths:
            self._clear(self._source.choice(paths))

    def _replace(self) -> None:
        """Replaces an entry by another one under the same path."""
        if not (paths := self._paths):
            return
        path = self._source.choice(paths)
        self._clear(path)
        kind = self._source.randrange(3)
        if kind == 0:
            self._write(path, self._size())
        elif kind == 1:
            self._make_folder(path)
            for _ in range(self._source.randint(0, 3)):
                self._write(self._free(path), self._size())
        else:
            self._make_link(path)

    def _swap(self) -> None:
        """Exchanges the names of two files."""
        if len(files := self._files) > 1:
            one, other = (self.directory / path for path in self._source.sample(files, 2))
            aside = self.directory / self._free("")
            for before, after in ((one, aside), (other, one), (aside, other)):
                os.rename(before, after)

    def _part(self) -> None:
        """Replaces one hard link of a file by a separate copy, sometimes with other attributes."""
        if shared := [path for path in self._files if self._status(path).st_nlink > 1]:
            self._twin(path := self._source.choice(shared), path)
            if self._source.random() < 0.5:
                self._dress(path)

    def _copy(self) -> None:
        """Copies a file with its time and attributes to another name."""
        if files := self._files:
            self._twin(self._source.choice(files), self._free(self._somewhere()))

    def _dress_one(self) -> None:
        if paths := self._paths:
            self._dress(self._source.choice(paths))

    # Making

    def _exists(self, path: str) -> bool:
        return os.path.lexists(self.directory / path)

    def _size(self) -> int:
        size = content.size(self._source, huge=False)
        return size if self._bytes + size <= _MOST else self._source.randint(0, 8 * content.KIB)

    def _clear(self, path: str) -> None:
        place = self.directory / path
        if stat.S_ISDIR(os.lstat(place).st_mode):
            shutil.rmtree(place)
        else:
            place.unlink()

    def _twin(self, path: str, other: str) -> None:
        aside = self.directory / self._free("")
        shutil.copy2(self.directory / path, aside)
        os.rename(aside, self.directory / other)

    def _write(self, path: str, size: int) -> None:
        (self.directory / path).write_bytes(content.make(size, self._source))
        self._dress(path)

    def _make_folder(self, path: str) -> None:
        (self.directory / path).mkdir()
        self._dress(path)

    def _make_link(self, path: str) -> None:
        among = [*_TARGETS, path.rpartition("/")[2], *self._source.sample(paths := self._paths, min(2, len(paths)))]
        os.symlink(self._source.choice(among), self.directory / path)
        self._dress(path)

    def _dress(self, path: str) -> None:
        """Sets other permissions, attributes and times. The times are always new, because a change is noticed by its
        time."""
        place = self.directory / path
        if not stat.S_ISLNK(os.lstat(place).st_mode):
            is_folder = place.is_dir()
            os.chmod(place, self._source.choice(_FOLDER_MODES if is_folder else _MODES))
            if self._has_attributes and self._source.random() < 0.3:
                self._set_attribute(place)
        self._made += 1
        time = self._source.choice(_TIMES) * 1_000_000_000 + self._made
        os.utime(place, ns=(time, time), follow_symlinks=False)

    def _set_attribute(self, place: Path) -> None:
        name = f"user.{self._source.choice(['note', 'überschrift', 'a.b'])}"
        if name in os.listxattr(place) and self._source.random() < 0.5:
            os.removexattr(place, name)
        else:
            os.setxattr(place, name, self._source.randbytes(self._source.choice([0, 1, 20, 500])))


def _keeps_attributes(directory: Path) -> bool:
    """Whether files in the directory can have extended attributes of users."""
    try:
        os.setxattr(directory, "user.note", b"")
        os.removexattr(directory, "user.note")
        return True
    except OSError:
        return False
