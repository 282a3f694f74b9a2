"""This project's program."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from ..processes import Process
from ..program import Program
from .base import LOOPBACK, Peer, Place

_LISTENING = re.compile(r"listening on (\S+)")


class Transfer(Peer):
    """`transfer push --quiet` to a `transfer serve` that is new for every run."""

    promise = "verified, synced"
    server: Process
    address: str
    """Where the server listens, once it is armed."""

    def __init__(
        self,
        place: Place,
        program: Program,
        options: Sequence[str] = (),
        name: str | None = None,
        tls: bool = False,
        host: str = LOOPBACK,
        serve_in: Sequence[str] = (),
        push_in: Sequence[str] = (),
    ) -> None:
        """`serve_in` and `push_in` are put before the commands of the server and the client."""
        super().__init__(place)
        self.name = name or " ".join(["transfer, TLS" if tls else "transfer, plaintext", *options])
        if tls:
            self.promise = "encrypted, verified, synced"
        serve_mode, push_mode = (program.serve_tls, "--trust-new") if tls else (["--plaintext"], "--plaintext")
        directory = ["--dir", str(place.target), "--listen", f"{host}:0"]
        self._serve = [*serve_in, program.path, "serve", *directory, *serve_mode]
        self._push = [*push_in, program.path, "push"]
        self._push_options = ["--quiet", push_mode, *options]
        folder = place.directory("home")
        home = str(folder)
        self._known_servers = folder / "transfer" / "known_servers"
        self._environment = {"HOME": home, "XDG_CONFIG_HOME": home, "XDG_STATE_HOME": home, "XDG_DATA_HOME": home}

    def arm(self) -> None:
        # Each server is a new one, perhaps on the port of an earlier one.
        self._known_servers.unlink(missing_ok=True)
        self.server = self.place.processes.start(self._serve, environment=self._environment)
        self.server.wait_until(self._has_said_where_it_listens, "did not say where it listens")

    def push(self) -> None:
        self._run([*self.place.corpus.entries, "--to", self.address])

    def push_one(self, file: Path, name: str) -> None:
        """As a person would push one file."""
        self._run([str(file), "--name", name, "--to", self.address])

    def disarm(self) -> None:
        self.place.processes.stop(self.server)

    def _has_said_where_it_listens(self) -> bool:
        found = _LISTENING.search(self.server.log)
        if found:
            self.address = found.group(1)
        return found is not None

    def _run(self, arguments: Sequence[str]) -> None:
        command = [*self._push, *arguments, *self._push_options]
        self.place.processes.run(command, environment=self._environment)
