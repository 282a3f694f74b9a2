"""This project's program."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from ..processes import Process
from ..program import Program
from .base import Peer, Place

_LISTENING = re.compile(r"listening on (\S+)")


class Transfer(Peer):
    """`transfer push --quiet` to a `transfer serve` that is new for every run."""

    promise = "verified, synced"
    server: Process
    address: str
    """The address of the server, once `arm` has started it."""

    def __init__(
        self,
        place: Place,
        program: Program,
        options: Sequence[str] = (),
        name: str | None = None,
        tls: bool = False,
        client_in: Sequence[str] = (),
    ) -> None:
        """`options` are those of the push. `client_in` is a prefix for the commands of the client."""
        super().__init__(place)
        self.name = name or " ".join(["transfer, TLS" if tls else "transfer, plaintext", *options])
        if tls:
            self.promise = "encrypted, verified, synced"
        serve_mode, client_mode = (program.serve_tls, "--trust-new") if tls else (["--plaintext"], "--plaintext")
        directory = ["--dir", str(place.target), "--listen", f"{place.route.host}:0"]
        self._serve = [program.path, "serve", *directory, *serve_mode]
        self._client = [*client_in, program.path]
        self._client_options = ["--quiet", client_mode]
        self._push_options = options
        folder = place.directory("home")
        home = str(folder)
        self._known_servers = folder / "transfer" / "known_servers"
        self._environment = {"HOME": home, "XDG_CONFIG_HOME": home, "XDG_STATE_HOME": home, "XDG_DATA_HOME": home}

    def arm(self) -> None:
        # Each run starts a new server with a new key. The port may be that of an earlier server, whose key the client
        # would expect.
        self._known_servers.unlink(missing_ok=True)
        self.server = self.serve(self._serve, self._environment)
        self.server.wait_until(self._has_said_where_it_listens, "did not say where it listens")

    def push(self) -> None:
        self._push(self.place.corpus.entries)

    def push_one(self, file: Path, name: str) -> None:
        """Pushes one file as a user would."""
        self._push([str(file), "--name", name])

    def pull(self, output: Path) -> None:
        """Fetches all pushed files into a directory."""
        names = [Path(entry).name for entry in self.place.corpus.entries]
        self._ask("pull", [*names, "--from", self.address, "--output", f"{output}/"])

    def disarm(self) -> None:
        self.place.processes.stop(self.server)

    def _has_said_where_it_listens(self) -> bool:
        found = _LISTENING.search(self.server.log)
        if found:
            self.address = found.group(1)
        return found is not None

    def _push(self, arguments: Sequence[str]) -> None:
        self._ask("push", [*arguments, "--to", self.address, *self._push_options])

    def _ask(self, command: str, arguments: Sequence[str]) -> None:
        self.run([*self._client, command, *arguments, *self._client_options], self._environment)
