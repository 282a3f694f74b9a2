"""Mounting for the disks under a server."""

from __future__ import annotations

import os
import select
import shutil
import socket
import subprocess
import time
from contextlib import closing
from pathlib import Path

from .program import PATIENCE, Broken

# Commands that make file systems, by kind.
MAKERS = {
    "ext4": ["mkfs.ext4", "-q", "-J", "size=4"],
    "xfs": ["mkfs.xfs", "-q"],
}

# The kernel reports events of devices (NETLINK_KOBJECT_UEVENT in linux/netlink.h) to group 1, also when a loop
# device releases its file. The size covers an event (UEVENT_BUFFER_SIZE in linux/kobject.h) and the event's head.
_UEVENTS = 15
_KERNEL = 1
_LONGEST_EVENT = 4096

_PATH = os.environ.get("PATH", "") + ":/usr/sbin:/sbin"
ENVIRONMENT = {**os.environ, "PATH": _PATH, "LC_ALL": "C"}


def missing(*also: str) -> dict[str, str]:
    """The reason why a file system is unavailable, by kind; without available kinds. `also` names further kinds that
    are needed."""
    if os.geteuid() != 0:
        return {kind: "not root" for kind in MAKERS}
    found = {}
    for kind in MAKERS:
        for program in (MAKERS[needed][0] for needed in (kind, *also)):
            if shutil.which(program, path=_PATH) is None:
                found[kind] = f"{program} is not installed"
    return found


def kinds(*also: str) -> list[str]:
    """The available kinds."""
    lacking = missing(*also)
    return [kind for kind in MAKERS if kind not in lacking]


def run(*command: str) -> str:
    """Runs a command and returns its output. Raises OSError if the command fails."""
    found = subprocess.run(command, capture_output=True, text=True, check=False, env=ENVIRONMENT)
    if found.returncode != 0:
        raise OSError(f"{command[0]}: {found.stderr.strip()}")
    return found.stdout


class Mounts:
    """Records what is mounted, so that everything can be unmounted."""

    def __init__(self) -> None:
        self._places: list[Path] = []

    def add(self, source: str, place: Path, *options: str) -> None:
        """Mounts a file system. Raises OSError if that is not allowed."""
        # The place is recorded before the mount: after an interruption, one unmount too many is better than one too
        # few.
        self._places.append(place)
        run("mount", *options, source, str(place))

    def remove(self, place: Path) -> None:
        """Unmounts a file system. Raises Broken while a process has a file open there."""
        # The kernel closes the files of a killed process a moment after the process has ended. Then the mount point is
        # detached at once, and the disk follows when the last file is closed.
        image = _image(place)
        try:
            run("umount", str(place))
        except OSError as error:
            if "busy" not in str(error):
                raise Broken(f"the disk cannot be unmounted: {error}") from None
            run("umount", "-l", str(place))
            if image is not None:
                self.release(image)
        self._places.remove(place)

    def release(self, image: Path) -> None:
        """Waits until an unmounted image is free, because another mount of it would show the cached state. Raises
        Broken while a process holds it, such as one with its own mount namespace that was started meanwhile."""
        deadline = time.monotonic() + PATIENCE
        with closing(socket.socket(socket.AF_NETLINK, socket.SOCK_DGRAM, _UEVENTS)) as events:
            events.bind((0, _KERNEL))
            while _is_held(image):
                left = deadline - time.monotonic()
                if left <= 0:
                    raise Broken("the disk cannot be mounted anew: another process holds its mount")
                if select.select([events], [], [], left)[0]:
                    events.recv(_LONGEST_EVENT)

    def abandon(self) -> None:
        """Unmounts everything, whatever uses it."""
        for place in reversed(self._places):
            subprocess.run(["umount", "-l", str(place)], check=False, capture_output=True, env=ENVIRONMENT)
        self._places = []


def _image(place: Path) -> Path | None:
    """The file behind the loop device that is mounted there, or None."""
    device = Path(run("findmnt", "-n", "-o", "SOURCE", str(place)).strip()).name
    held = Path("/sys/block") / device / "loop" / "backing_file"
    return Path(held.read_text().rstrip("\n")) if held.exists() else None


def _is_held(image: Path) -> bool:
    """Whether a loop device holds the image."""
    for held in Path("/sys/block").glob("loop*/loop/backing_file"):
        try:
            if held.read_text().rstrip("\n") == str(image):
                return True
        except OSError:
            # The loop device has just released its file.
            continue
    return False
