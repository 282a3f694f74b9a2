"""People with keys, whom a server knows by name."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

from .program import Broken, Server

# Variables of the caller's environment that must not take effect.
_UNSET = ("TRANSFER_SERVER", "TRANSFER_TOKEN")


class Person:
    """A person with a home directory."""

    def __init__(self, name: str, transfer: Path, directory: Path) -> None:
        self.name = name
        self.home = directory / "homes" / name
        self._transfer = transfer

    def command(self, *words: str) -> list[str]:
        """The command as this person runs it."""
        return [*at_home(self.home), str(self._transfer), *words]

    def ask(self, *words: str) -> bytes:
        """Runs a command that ends soon. Raises Broken if it fails."""
        found = subprocess.run(self.command(*words), capture_output=True, check=False)
        if found.returncode != 0:
            raise Broken(f"{words[0]} of {self.name} ended with status {found.returncode}: {found.stderr.decode()[-500:]}")
        return found.stdout

    def enter(self, server: Path) -> None:
        """Makes a key, and registers it in the server directory under the person's name."""
        self.home.mkdir(parents=True)
        key = self.ask("key").decode().splitlines()[0]
        self.ask("access", "add", "--dir", str(server), "--name", self.name, key)


def at_home(home: Path) -> list[str]:
    """A command that runs the command appended to it as a person with that home."""
    unset = [word for name in _UNSET for word in ("-u", name)]
    return ["env", *unset, f"HOME={home}", f"XDG_CONFIG_HOME={home / 'config'}"]


def fingerprint(server: Server) -> str:
    """The fingerprint by which clients know the server. Raises Broken if the log has none."""
    for line in server.log.read_bytes().splitlines():
        said = json.loads(line)
        if said.get("event") == "identity":
            return str(said["fingerprint"])
    raise Broken("the server has no key")
