"""The programs that the measurements need."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

# Commands, and the Debian packages that contain them.
PACKAGES = {
    "rsync": "rsync",
    "nginx": "nginx",
    "curl": "curl",
    "scp": "openssh-client",
    "sshd": "openssh-server",
    "nc": "netcat-openbsd",
    "ip": "iproute2",
    "tc": "iproute2",
    "openssl": "openssl",
    "time": "time",
}

# Directories of daemons, which are not on every user's PATH.
_SYSTEM_DIRECTORIES = "/usr/local/sbin:/usr/sbin:/sbin"


class MissingCommands(Exception):
    """A command is missing and could not be installed; the message names it."""


def install_missing() -> None:
    """Makes all commands available. Installs packages on Debian and its derivatives."""
    os.environ["PATH"] = f"{os.environ.get('PATH', '')}:{_SYSTEM_DIRECTORIES}"
    missing = _missing()
    if not missing:
        return
    packages = sorted({PACKAGES[command] for command in missing})
    if shutil.which("apt-get") is None:
        raise MissingCommands(f"please install {', '.join(missing)} (on Debian: {' '.join(packages)})")
    as_root = [] if os.geteuid() == 0 else ["sudo"]
    if as_root and shutil.which("sudo") is None:
        raise MissingCommands(f"please run as root: apt-get install {' '.join(packages)}")
    print(f"Installing {' '.join(packages)}. Debian starts nginx and sshd as services when it installs them.")
    _apt([*as_root, "apt-get", "update"], packages)
    install = ["apt-get", "install", "--yes", "--no-install-recommends", *packages]
    _apt([*as_root, "env", "DEBIAN_FRONTEND=noninteractive", *install], packages)
    if _missing():
        raise MissingCommands(f"still not there after installing: {', '.join(_missing())}")


def _missing() -> list[str]:
    return [command for command in PACKAGES if shutil.which(command) is None]


def _apt(command: list[str], packages: list[str]) -> None:
    if subprocess.run(command, stdout=sys.stderr, check=False).returncode != 0:
        raise MissingCommands(f"installing failed; please install {' '.join(packages)}")
