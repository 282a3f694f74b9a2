"""The state of a tree of files, folders and links at one moment, and the differences between two states."""

from __future__ import annotations

import os
import re
import stat
from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from . import content

FILE, FOLDER, LINK, OTHER = "file", "folder", "link", "something else"


@dataclass(frozen=True)
class Entry:
    """The state of one path."""

    kind: str
    mode: int
    owner: tuple[int, int]
    modified: int
    # The digest of a file, the target of a link, or an empty text for a folder.
    content: str
    size: int
    attributes: tuple[tuple[str, bytes], ...]
    # The first path, in sorted order, among the hard links of the file.
    first: str

    @property
    def key(self) -> tuple[str, str]:
        """The properties that a move keeps."""
        return (self.kind, self.content)


Look = dict[str, Entry]

# Path of the folder itself.
TOP = ""


class Tree:
    """A directory. Reads the content of a file again only if its status says that it changed."""

    def __init__(self, directory: Path, reserved: Collection[str] = ()) -> None:
        """`reserved` are folders of the program in the directory, which are ignored."""
        self.directory = directory
        self._reserved = reserved
        self._known: dict[str, tuple[tuple[int, ...], str]] = {}

    def look(self) -> Look:
        """The state of everything in the directory by its path, and of the directory itself; empty if the directory
        does not exist."""
        if not self.directory.exists():
            return {}
        found, firsts = {TOP: self._entry(TOP)}, dict[tuple[int, int], str]()
        for path in sorted(self._paths(TOP)):
            status = os.lstat(self.directory / path)
            entry = self._entry(path)
            if entry.kind == FILE:
                entry = replace(entry, first=firsts.setdefault((status.st_dev, status.st_ino), path))
            found[path] = entry
        return found

    def _paths(self, folder: str) -> Iterator[str]:
        with os.scandir(self.directory / folder) as entries:
            for entry in entries:
                path = f"{folder}/{entry.name}" if folder else entry.name
                if path in self._reserved:
                    continue
                yield path
                if entry.is_dir(follow_symlinks=False):
                    yield from self._paths(path)

    def _entry(self, path: str) -> Entry:
        place = self.directory / path
        status = os.lstat(place)
        mode = stat.S_IMODE(status.st_mode)
        kind, held, size = OTHER, "", 0
        if stat.S_ISLNK(status.st_mode):
            # No program can choose the mode of a link.
            kind, held, mode = LINK, os.readlink(place), 0
        elif stat.S_ISDIR(status.st_mode):
            kind = FOLDER
        elif stat.S_ISREG(status.st_mode):
            kind, held, size = FILE, self._digest(path, status), status.st_size
        return Entry(
            kind, mode, (status.st_uid, status.st_gid), status.st_mtime_ns, held, size, attributes(place), path
        )

    def _digest(self, path: str, status: os.stat_result) -> str:
        mark = (status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)
        known = self._known.get(path)
        if known is None or known[0] != mark:
            known = (mark, content.digest_of(self.directory / path))
            self._known[path] = known
        return known[1]


def attributes(place: Path) -> tuple[tuple[str, bytes], ...]:
    """The extended attributes that are kept: those of users, which links cannot have."""
    try:
        names = sorted(name for name in os.listxattr(place, follow_symlinks=False) if name.startswith("user."))
    except OSError:
        return ()
    return tuple((name, os.getxattr(place, name, follow_symlinks=False)) for name in names)


def files(look: Look) -> set[str]:
    """The paths of the files in a tree."""
    return {path for path, entry in look.items() if entry.kind == FILE}


def differences(source: Look, target: Look) -> list[str]:
    """One sentence for each difference between two trees."""
    found = [f"lacking: {path!r}" for path in source if path not in target]
    found += [f"too much: {path!r}" for path in target if path not in source]
    for path, entry in source.items():
        other = target.get(path)
        if other is None or other == entry:
            continue
        names = [name for name in entry.__dataclass_fields__ if getattr(entry, name) != getattr(other, name)]
        found.append(f"{path!r} differs in " + ", ".join(f"{name} ({getattr(entry, name)!r}, {getattr(other, name)!r})" for name in names))
    return found


def torn(before: Look, now: Look, source: Look) -> list[str]:
    """One sentence for each path that during a sync is neither in its old state nor in its state in `source`."""
    problems = []
    for path, entry in now.items():
        if entry.key not in {look[path].key for look in (before, source) if path in look}:
            problems.append(f"neither old nor new: {entry.kind} {path!r} of {entry.size} bytes")
    for path, entry in before.items():
        wanted = source.get(path)
        if entry.kind == FOLDER or wanted is None or wanted.kind != entry.kind or path in now:
            continue
        if not _is_parted(path, before, source):
            problems.append(f"there before and there at the end, and gone between: {path!r}")
    return problems


def _is_parted(path: str, before: Look, source: Look) -> bool:
    """Whether another name of the file will belong to another file. Such a name is removed before the other file is
    stored."""
    others = (other for other, entry in before.items() if entry.kind == FILE and entry.first == before[path].first)
    return any(other in source and source[other].first != source[path].first for other in others)


def removed(before: Look, now: Look, source: Look) -> list[tuple[str, tuple[str, str]]]:
    """The entries that must be in the trash since `before`: paths with their former contents."""
    arrived = {entry.key for path, entry in now.items() if path not in before and source.get(path, entry).key == entry.key}
    gone = []
    for path, entry in before.items():
        there = now.get(path)
        if entry.kind == FOLDER or (there is not None and there.kind == entry.kind):
            continue
        if entry.kind == LINK and path in source:
            # A link that is replaced counts as no removal.
            continue
        if entry.kind == FILE and entry.size > 0 and entry.key in arrived:
            # The file was moved.
            continue
        gone.append((path, entry.key))
    return gone


def replaced(before: Look, now: Look) -> list[tuple[str, tuple[str, str]]]:
    """The entries that must be in a folder of backups since `before`, in addition to the removed ones."""
    return [
        (path, entry.key)
        for path, entry in before.items()
        if path in now and now[path].key != entry.key and (entry.kind == LINK or entry.kind == now[path].kind == FILE)
    ]


class Trash:
    """The trash: named batches, each with a tree."""

    def __init__(self, directory: Path, folder: str = "") -> None:
        """`folder` is the folder to read in each batch."""
        self._directory = directory
        self._folder = folder
        self._trees: dict[str, Tree] = {}
        # Folders found by the last look: the newest entry under a path may be one of them.
        self.folders: set[str] = set()

    def look(self) -> Counter[tuple[str, tuple[str, str]]]:
        """The number of entries by path and content."""
        found: Counter[tuple[str, tuple[str, str]]] = Counter()
        self.folders = set()
        if not self._directory.exists():
            return found
        for part in sorted(os.listdir(self._directory)):
            tree = self._trees.setdefault(part, Tree(self._directory / part / self._folder))
            if os.path.lexists(tree.directory):
                look = tree.look()
                found.update((path, entry.key) for path, entry in look.items() if entry.kind != FOLDER)
                self.folders.update(path for path, entry in look.items() if entry.kind == FOLDER)
        return found


class Backup(Trash):
    """A folder with the files that a sync has replaced and removed: at its top or, if the path was taken, in folders by
    date."""

    _DATE = re.compile(r"[0-9]{8}T[0-9]{6}Z(\.[0-9])?/")

    def __init__(self, directory: Path) -> None:
        super().__init__(directory)
        self._tree = Tree(directory)

    def look(self) -> Counter[tuple[str, tuple[str, str]]]:
        """The number of entries by path and content."""
        return Counter((self._DATE.sub("", path, count=1) if self._DATE.match(path) else path, entry.key)
                       for path, entry in self._tree.look().items() if entry.kind != FOLDER)
