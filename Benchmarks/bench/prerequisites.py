"""The programs that the measurements need."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

# The command, and the Debian package that brings it.
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

# Daemons live here, and not everybody has these on the PATH.
_SYSTEM_DIRECTORIES = "/usr/local/sbin:/usr/sbin:/sbin"


class MissingCommands(Exception):
    """Something is not installed and could not be; the message says what."""


def install_missing() -> None:
    """Makes all commands available; installs packages on Debian and its relatives."""
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
