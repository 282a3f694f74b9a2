"""A description of the machine on which the figures were measured."""

from __future__ import annotations

import datetime
import os
import platform
import re
import shutil
import subprocess
from pathlib import Path

from .workspace import filesystem

# Commands that print a version, with expressions that find it in the output.
_VERSIONS = {
    "rsync": (["rsync", "--version"], r"version (\S+)"),
    "nginx": (["nginx", "-v"], r"nginx/(\S+)"),
    "curl": (["curl", "--version"], r"curl (\S+)"),
    "OpenSSH": (["ssh", "-V"], r"OpenSSH_([^\s,]+)"),
    "nc": (["nc", "-h"], r"^(.*)$"),
    "rclone": (["rclone", "version"], r"rclone v?(\S+)"),
}


def describe(program: str, directory: Path, disk: Path | None) -> list[tuple[str, str]]:
    """Names and values, in the order of the report."""
    return [
        ("processor", f"{_processor()}, {os.cpu_count()} cores"),
        ("memory", f"{_memory_gibibytes():.0f} GiB"),
        ("system", f"{_distribution()}, Linux {platform.release()}"),
        ("file systems", f"{filesystem(directory)}; disk: {filesystem(disk) if disk else 'none'}"),
        ("programs", ", ".join([program, *_other_programs()])),
        ("load before", f"{os.getloadavg()[0]:.1f}; 0 is best"),
        ("date", datetime.date.today().isoformat()),
    ]


def _other_programs() -> list[str]:
    """The installed programs, each with its version."""
    return [f"{name} {_version(name)}" for name, (command, _) in _VERSIONS.items() if shutil.which(command[0])]


def first_compression_of_rsync() -> str:
    """The compression of `rsync -z` between two equal versions: the first method in its list."""
    lines = _output(["rsync", "--version"]).splitlines()
    for line, following in zip(lines, lines[1:]):
        if line.strip() == "Compress list:":
            return following.split()[0]
    return "zlib"


def _processor() -> str:
    found = re.search(r"^model name\s*: (.*)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    return found.group(1) if found else platform.machine()


def _memory_gibibytes() -> float:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / (1 << 30)


def _distribution() -> str:
    try:
        return platform.freedesktop_os_release()["PRETTY_NAME"]
    except (OSError, KeyError):
        return "unknown distribution"


def _version(name: str) -> str:
    command, pattern = _VERSIONS[name]
    found = re.search(pattern, _output(command), re.MULTILINE)
    return found.group(1) if found else "of an unknown version"


def _output(command: list[str]) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stdout + done.stderr
