"""A disk that loses writes, under a server: what was acknowledged must be on the medium."""

from __future__ import annotations

import subprocess
from pathlib import Path

from . import mounts
from .mounts import Mounts

# Size of the file system, which exceeds the room for its image. mkfs.xfs(8) makes no file system below 300 MiB.
_SIZE = "512m"


class Medium:
    """A file system on a loop device. There is room for little more than its image takes after the file system is made.
    """

    def __init__(self, directory: Path, kind: str) -> None:
        self._room = directory / "room"
        self.directory = directory / "disk"
        self._image = self._room / "image"
        self._kind = kind
        self._mounts = Mounts()

    @staticmethod
    def missing() -> dict[str, str]:
        """The reason why a file system is unavailable, by kind; without available kinds."""
        return mounts.missing()

    @staticmethod
    def kinds() -> list[str]:
        """The available kinds."""
        return mounts.kinds()

    def make(self, room: int) -> None:
        """Makes the file system, with that many bytes of room. Raises OSError if mounting is not allowed."""
        self._room.mkdir(parents=True)
        self.directory.mkdir()
        self._mounts.add("tmpfs", self._room, "-t", "tmpfs", "-o", "size=1g")
        mounts.run("truncate", "-s", _SIZE, str(self._image))
        mounts.run(*mounts.MAKERS[self._kind], str(self._image))
        self._mount()
        self._fail_honestly()
        mounts.run("sync", "-f", str(self.directory))
        taken = self._image.stat().st_blocks * 512
        self._resize(str(taken + room))

    def mend(self) -> None:
        """Gives the file system room for its full size."""
        self._resize("1g")

    def remount(self) -> None:
        """Mounts the file system again, so that later reads come from the medium. Raises Broken while a process has a
        file open."""
        self._mounts.remove(self.directory)
        self._mounts.release(self._image)
        if self._kind == "ext4":
            # A journal that could not be written can leave unreadable directories.
            subprocess.run(["e2fsck", "-f", "-y", str(self._image)], check=False, capture_output=True, env=mounts.ENVIRONMENT)
        self._mount()

    def abandon(self) -> None:
        """Unmounts everything, whatever uses it."""
        self._mounts.abandon()

    def _mount(self) -> None:
        self._mounts.add(str(self._image), self.directory, "-o", "loop")

    def _fail_honestly(self) -> None:
        """A loop device reports success for a write of which its file took only the front. A single page has no front,
        so with requests of one page every loss is reported."""
        device = mounts.run("findmnt", "-n", "-o", "SOURCE", str(self.directory)).strip()
        (Path("/sys/block") / Path(device).name / "queue" / "max_sectors_kb").write_text("4")

    def _resize(self, size: str) -> None:
        mounts.run("mount", "-o", f"remount,size={size}", str(self._room))
