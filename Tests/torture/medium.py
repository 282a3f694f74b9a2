"""A disk that loses writes, under a server: what was acknowledged is looked for on the medium."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from pathlib import Path

from .program import PATIENCE, Broken

# Bytes that the file system believes in. mkfs.xfs(8) makes none below 300 MiB.
_SIZE = "512m"

_MAKERS = {
    "ext4": ["mkfs.ext4", "-q", "-J", "size=4"],
    "xfs": ["mkfs.xfs", "-q"],
}

_PATH = os.environ.get("PATH", "") + ":/usr/sbin:/sbin"
_ENVIRONMENT = {**os.environ, "PATH": _PATH, "LC_ALL": "C"}


class Medium:
    """A file system on a loop device, in an image that has room for a little more than it takes when it is made."""

    def __init__(self, directory: Path, kind: str) -> None:
        self._room = directory / "room"
        self.directory = directory / "disk"
        self._image = self._room / "image"
        self._kind = kind
        self._mounted: list[Path] = []

    @staticmethod
    def missing() -> dict[str, str]:
        """Why there can be none, by kind; nothing for those that there can be."""
        if os.geteuid() != 0:
            return {kind: "not root" for kind in _MAKERS}
        return {
            kind: f"{maker[0]} is not installed"
            for kind, maker in _MAKERS.items()
            if shutil.which(maker[0], path=_PATH) is None
        }

    @staticmethod
    def kinds() -> list[str]:
        """Those that there can be."""
        missing = Medium.missing()
        return [kind for kind in _MAKERS if kind not in missing]

    def make(self, room: int) -> None:
        """Makes it, with so many bytes of room. Raises OSError where mounting is not allowed."""
        self._room.mkdir(parents=True)
        self.directory.mkdir()
        _run("mount", "-t", "tmpfs", "-o", "size=1g", "tmpfs", str(self._room))
        self._mounted.append(self._room)
        _run("truncate", "-s", _SIZE, str(self._image))
        _run(*_MAKERS[self._kind], str(self._image))
        self._mount()
        self._fail_honestly()
        _run("sync", "-f", str(self.directory))
        taken = self._image.stat().st_blocks * 512
        self._resize(str(taken + room))

    def mend(self) -> None:
        """From now on it has room for all that it believes in."""
        self._resize("1g")

    def remount(self) -> None:
        """What is read afterwards comes from the medium. Raises Broken while somebody has a file open."""
        self._unmount()
        self._mounted.remove(self.directory)
        if self._kind == "ext4":
            # A journal that could not be written leaves directories that nobody can look into.
            subprocess.run(["e2fsck", "-f", "-y", str(self._image)], check=False, capture_output=True, env=_ENVIRONMENT)
        self._mount()

    def _unmount(self) -> None:
        """The kernel closes files of a process that was killed a moment after it has ended."""
        deadline = time.monotonic() + PATIENCE
        while True:
            try:
                _run("umount", str(self.directory))
                return
            except OSError as error:
                if "busy" not in str(error) or time.monotonic() > deadline:
                    raise Broken(f"the disk cannot be unmounted: {error}") from None
            time.sleep(0.05)

    def abandon(self) -> None:
        """Lets go of everything."""
        for path in reversed(self._mounted):
            subprocess.run(["umount", "-l", str(path)], check=False, capture_output=True)
        self._mounted = []

    def _mount(self) -> None:
        _run("mount", "-o", "loop", str(self._image), str(self.directory))
        self._mounted.append(self.directory)

    def _fail_honestly(self) -> None:
        """A loop device takes a write of which its file took only the front for one that went well. Of a page nothing is
        the front: with requests of one page what is lost is told."""
        device = _run("findmnt", "-n", "-o", "SOURCE", str(self.directory)).strip()
        (Path("/sys/block") / Path(device).name / "queue" / "max_sectors_kb").write_text("4")

    def _resize(self, size: str) -> None:
        _run("mount", "-o", f"remount,size={size}", str(self._room))


def _run(*command: str) -> str:
    """Raises OSError when it fails."""
    found = subprocess.run(command, capture_output=True, text=True, check=False, env=_ENVIRONMENT)
    if found.returncode != 0:
        raise OSError(f"{command[0]}: {found.stderr.strip()}")
    return found.stdout
