"""Mounting, for the disks under a server."""

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

# How file systems are made, by kind.
MAKERS = {
    "ext4": ["mkfs.ext4", "-q", "-J", "size=4"],
    "xfs": ["mkfs.xfs", "-q"],
}

# What the kernel says of its devices (NETLINK_KOBJECT_UEVENT in linux/netlink.h), to group 1; a loop device that lets go of its
# file says so. Bytes of one (UEVENT_BUFFER_SIZE in linux/kobject.h) and of its head.
_UEVENTS = 15
_KERNEL = 1
_LONGEST_EVENT = 4096

_PATH = os.environ.get("PATH", "") + ":/usr/sbin:/sbin"
ENVIRONMENT = {**os.environ, "PATH": _PATH, "LC_ALL": "C"}


def missing(*also: str) -> dict[str, str]:
    """Why there can be no file system, by kind; nothing for those that there can be. `also` are other kinds that it takes."""
    if os.geteuid() != 0:
        return {kind: "not root" for kind in MAKERS}
    found = {}
    for kind in MAKERS:
        for program in (MAKERS[needed][0] for needed in (kind, *also)):
            if shutil.which(program, path=_PATH) is None:
                found[kind] = f"{program} is not installed"
    return found


def kinds(*also: str) -> list[str]:
    """Those that there can be."""
    lacking = missing(*also)
    return [kind for kind in MAKERS if kind not in lacking]


def run(*command: str) -> str:
    """Raises OSError when it fails."""
    found = subprocess.run(command, capture_output=True, text=True, check=False, env=ENVIRONMENT)
    if found.returncode != 0:
        raise OSError(f"{command[0]}: {found.stderr.strip()}")
    return found.stdout


class Mounts:
    """What is mounted, so that it can be let go of."""

    def __init__(self) -> None:
        self._places: list[Path] = []

    def add(self, source: str, place: Path, *options: str) -> None:
        """Mounts it there. Raises OSError where that is not allowed."""
        # First: whoever is interrupted lets go of too much rather than of too little.
        self._places.append(place)
        run("mount", *options, source, str(place))

    def remove(self, place: Path) -> None:
        """Raises Broken while somebody has a file open there."""
        # The kernel closes files of a process that was killed a moment after it has ended: then the place goes at once, and
        # the disk with the last of them.
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
        """Waits until an image that was unmounted is free: another mount of it would show what is in memory. Raises Broken
        while somebody holds it, such as a process with mounts of its own that was started meanwhile."""
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
        """Lets go of everything."""
        for place in reversed(self._places):
            subprocess.run(["umount", "-l", str(place)], check=False, capture_output=True, env=ENVIRONMENT)
        self._places = []


def _image(place: Path) -> Path | None:
    """What the loop device has whose file system is mounted there; nothing where there is none."""
    device = Path(run("findmnt", "-n", "-o", "SOURCE", str(place)).strip()).name
    held = Path("/sys/block") / device / "loop" / "backing_file"
    return Path(held.read_text().rstrip("\n")) if held.exists() else None


def _is_held(image: Path) -> bool:
    """Whether a loop device has it."""
    for held in Path("/sys/block").glob("loop*/loop/backing_file"):
        try:
            if held.read_text().rstrip("\n") == str(image):
                return True
        except OSError:
            # It has just been let go of.
            continue
    return False
