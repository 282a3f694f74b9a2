"""A disk whose power can be cut at any moment."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

from . import mounts
from .mounts import Mounts
from .program import Broken

# The value is from linux/fs.h.
_FICLONE = 0x40049409

# Sizes of the outer and the inner file system. Unwritten space takes no memory.
_OUTER = "2g"
_INNER = "512m"

# Number of tests of the disk: another program on the machine may write everything back during one of them.
_TRIALS = 5
_TRIED = b"x" * (64 << 10)


class PowerDisk:
    """A file system in an image that lies on an XFS with reflinks.

    A clone of the image is taken in one step, even while the file system writes to it. The clone has exactly the data
    that has left the page cache of the inner file system by then. A power cut leaves that state on a medium that keeps
    everything it was given.
    """

    def __init__(self, directory: Path, kind: str, options: str = "") -> None:
        """`options` are those of mount(8) for the file system."""
        self._room = directory / "room"
        self._outer = directory / "outer"
        self.directory = directory / "disk"
        self._kind = kind
        self._options = ",".join(filter(None, ["loop", "nouuid" if kind == "xfs" else "", options]))
        self._mounts = Mounts()
        self._made = 0
        self._image: Path | None = None

    @staticmethod
    def missing() -> dict[str, str]:
        """The reason why the disk is unavailable, by kind of the inner file system; without available kinds."""
        return mounts.missing("xfs")

    @staticmethod
    def kinds() -> list[str]:
        """The available kinds."""
        return mounts.kinds("xfs")

    def make(self) -> None:
        """Makes the disk and mounts it. Raises OSError if mounting is not allowed."""
        for directory in (self._room, self._outer, self.directory):
            directory.mkdir(parents=True)
        self._mounts.add("tmpfs", self._room, "-t", "tmpfs", "-o", f"size={_OUTER}")
        outer = self._room / "image"
        mounts.run("truncate", "-s", _OUTER, str(outer))
        mounts.run("mkfs.xfs", "-q", "-m", "reflink=1", str(outer))
        # Removed files free their memory.
        self._mounts.add(str(outer), self._outer, "-o", "loop,discard")
        image = self._new()
        mounts.run("truncate", "-s", _INNER, str(image))
        mounts.run(*mounts.MAKERS[self._kind], str(image))
        self._mount(image)

    def cut(self) -> Path:
        """An image of the current medium. The disk continues to work."""
        assert self._image is not None
        return self._clone(self._image)

    def boot(self, image: Path) -> None:
        """Makes the disk a copy of that image. Raises Broken if the image cannot be mounted, or while a process has a
        file open on the present one."""
        self.halt()
        try:
            # A clone has the same file system ID. No image is mounted twice, because a process may hold the first mount
            # of it.
            self._mount(self._clone(image))
        except OSError as error:
            raise Broken(f"the disk cannot be mounted after a power cut: {error}") from None

    def halt(self) -> None:
        """Unmounts the disk and forgets its image."""
        if self._image is not None:
            self._mounts.remove(self.directory)
            self.drop(self._image)
            self._image = None

    def drop(self, image: Path) -> None:
        """Removes the file of an image."""
        image.unlink(missing_ok=True)

    def keep(self, image: Path, place: Path) -> None:
        """Copies an image to a place outside the disk."""
        mounts.run("cp", "--sparse=always", str(image), str(place))

    def commit(self) -> None:
        """Writes and syncs a file as any other program might, which also commits the journal."""
        with (self.directory / "bystander").open("ab") as file:
            file.write(b"x")
            file.flush()
            os.fsync(file.fileno())

    def prove(self) -> None:
        """Checks that a cut removes unsynced data and keeps synced data. Raises Broken otherwise."""
        if not any(self._loses(number) for number in range(_TRIALS)):
            raise Broken("the disk proves nothing: a power cut took nothing of a file that nobody had synced")

    def _loses(self, number: int) -> bool:
        synced, unsynced = (self.directory / f"{word}-{number}" for word in ("synced", "unsynced"))
        with synced.open("wb") as file:
            file.write(_TRIED)
            file.flush()
            os.fsync(file.fileno())
        _sync_directory(self.directory)
        unsynced.write_bytes(_TRIED)
        image = self.cut()
        self.boot(image)
        self.drop(image)
        if not synced.exists() or synced.read_bytes() != _TRIED:
            raise Broken("the disk proves nothing: a power cut took a file that was synced")
        return not unsynced.exists() or unsynced.read_bytes() != _TRIED

    def abandon(self) -> None:
        """Unmounts everything, whatever uses it."""
        self._mounts.abandon()

    def _mount(self, image: Path) -> None:
        self._mounts.add(str(image), self.directory, "-o", self._options)
        self._image = image

    def _new(self) -> Path:
        self._made += 1
        return self._outer / f"image-{self._made}"

    def _clone(self, image: Path) -> Path:
        copy = self._new()
        with image.open("rb") as source, copy.open("wb") as target:
            fcntl.ioctl(target.fileno(), _FICLONE, source.fileno())
        return copy


def _sync_directory(directory: Path) -> None:
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
