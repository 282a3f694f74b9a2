"""Directories to work in, and the properties of their file systems."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from pathlib import Path

# Free memory that a work directory needs: the largest set of files twice, and a margin.
_MEMORY_NEEDED = 6 << 30


def make_directory(parent: Path) -> Path:
    """A new directory that every user can enter: servers may run as another user."""
    parent.mkdir(parents=True, exist_ok=True)
    path = Path(tempfile.mkdtemp(prefix="transfer-bench-", dir=parent))
    path.chmod(0o755)
    return path


def default_parent() -> Path:
    """A file system in memory if there is enough memory, or else the directory for temporary files."""
    memory = Path("/dev/shm")
    if memory.is_dir() and filesystem(memory) == "tmpfs" and free_bytes(memory) >= _MEMORY_NEEDED:
        return memory
    return Path(tempfile.gettempdir())


def default_disk(build: Path) -> Path | None:
    """A place on a real file system, if there is one: the build directory, or else the directory for temporary files.
    """
    temporary = Path(tempfile.gettempdir())
    return next((place for place in (build, temporary) if filesystem(place) != "tmpfs"), None)


def empty(directory: Path) -> None:
    """Removes everything in the directory, but not the directory itself."""
    for entry in os.scandir(directory):
        if entry.is_dir(follow_symlinks=False):
            shutil.rmtree(entry.path)
        else:
            os.unlink(entry.path)


def remove(directory: Path) -> None:
    """Removes the directory and everything in it, as far as that is possible."""
    shutil.rmtree(directory, ignore_errors=True)


def free_bytes(path: Path) -> int:
    """Bytes that can still be written to a file system. A file system in memory may have a limit above the available
    memory."""
    place = _existing(path)
    free = shutil.disk_usage(place).free
    return min(free, _available_memory()) if filesystem(place) == "tmpfs" else free


def free_files(path: Path) -> int:
    """Number of files that can still be made on a file system; unlimited if the file system does not count files."""
    found = os.statvfs(_existing(path))
    return found.f_favail if found.f_files else sys.maxsize


def filesystem(path: Path) -> str:
    """The type of file system, such as `ext4` or `tmpfs`."""
    return filesystem_in(Path("/proc/self/mounts").read_text(), _existing(path).resolve())


def filesystem_in(mounts: str, path: Path) -> str:
    """Like `filesystem`, from the text of /proc/mounts. If two mounts have one place, the later one counts."""
    found, depth = "unknown", -1
    for line in mounts.splitlines():
        _, point, kind, *_ = line.split()
        mount = Path(point.replace("\\040", " "))
        if path.is_relative_to(mount) and len(mount.parts) >= depth:
            found, depth = kind, len(mount.parts)
    return found


def _available_memory() -> int:
    """Bytes available without swapping (proc(5), MemAvailable)."""
    for line in Path("/proc/meminfo").read_text().splitlines():
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) * 1024
    return 0


def _existing(path: Path) -> Path:
    while not path.exists():
        path = path.parent
    return path
