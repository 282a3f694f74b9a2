"""A disk that loses writes, under a server: what was acknowledged is looked for on the medium."""

from __future__ import annotations

import subprocess
from pathlib import Path

from . import mounts
from .mounts import Mounts

# Bytes that the file system believes in. mkfs.xfs(8) makes none below 300 MiB.
_SIZE = "512m"


class Medium:
    """A file system on a loop device, in an image that has room for a little more than it takes when it is made."""

    def __init__(self, directory: Path, kind: str) -> None:
        self._room = directory / "room"
        self.directory = directory / "disk"
        self._image = self._room / "image"
        self._kind = kind
        self._mounts = Mounts()

    @staticmethod
    def missing() -> dict[str, str]:
        """Why there can be none, by kind; nothing for those that there can be."""
        return mounts.missing()

    @staticmethod
    def kinds() -> list[str]:
        """Those that there can be."""
        return mounts.kinds()

    def make(self, room: int) -> None:
        """Makes it, with so many bytes of room. Raises OSError where mounting is not allowed."""
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
        """From now on it has room for all that it believes in."""
        self._resize("1g")

    def remount(self) -> None:
        """What is read afterwards comes from the medium. Raises Broken while somebody has a file open."""
        self._mounts.remove(self.directory)
        self._mounts.release(self._image)
        if self._kind == "ext4":
            # A journal that could not be written leaves directories that nobody can look into.
            subprocess.run(["e2fsck", "-f", "-y", str(self._image)], check=False, capture_output=True, env=mounts.ENVIRONMENT)
        self._mount()

    def abandon(self) -> None:
        """Lets go of everything."""
        self._mounts.abandon()

    def _mount(self) -> None:
        self._mounts.add(str(self._image), self.directory, "-o", "loop")

    def _fail_honestly(self) -> None:
        """A loop device takes a write of which its file took only the front for one that went well. Of a page nothing is
        the front: with requests of one page what is lost is told."""
        device = mounts.run("findmnt", "-n", "-o", "SOURCE", str(self.directory)).strip()
        (Path("/sys/block") / Path(device).name / "queue" / "max_sectors_kb").write_text("4")

    def _resize(self, size: str) -> None:
        mounts.run("mount", "-o", f"remount,size={size}", str(self._room))
