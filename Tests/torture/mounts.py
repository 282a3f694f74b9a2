"""Mounting, for the disks under a server."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from pathlib import Path

from .program import PATIENCE, Broken

# How file systems are made, by kind.
MAKERS = {
    "ext4": ["mkfs.ext4", "-q", "-J", "size=4"],
    "xfs": ["mkfs.xfs", "-q"],
}

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
        # The kernel closes files of a process that was killed a moment after it has ended.
        deadline = time.monotonic() + PATIENCE
        while True:
            try:
                run("umount", str(place))
                break
            except OSError as error:
                if "busy" not in str(error) or time.monotonic() > deadline:
                    raise Broken(f"the disk cannot be unmounted: {error}") from None
            time.sleep(0.05)
        self._places.remove(place)

    def release(self, image: Path) -> None:
        """Waits until an image that was unmounted is free: another mount of it would show what is in memory. Raises Broken
        while somebody holds it, such as a process with mounts of its own that was started meanwhile."""
        deadline = time.monotonic() + PATIENCE
        while _is_held(image):
            if time.monotonic() > deadline:
                raise Broken("the disk cannot be mounted anew: another process holds its mount")
            time.sleep(0.01)

    def abandon(self) -> None:
        """Lets go of everything."""
        for place in reversed(self._places):
            subprocess.run(["umount", "-l", str(place)], check=False, capture_output=True, env=ENVIRONMENT)
        self._places = []


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
