"""What all ways of sending files have in common."""

from __future__ import annotations

import os
import socket
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

from ..corpus import Corpus
from ..processes import Process, Processes

LOOPBACK = "127.0.0.1"

# Ports of a server that is alone where it is. They are below those that connections get (ip(7), ip_local_port_range).
_ports = count(20_000)


@dataclass(frozen=True)
class Route:
    """The way from a client to its server; without choices, loopback."""

    host: str = LOOPBACK
    """The address of the server."""

    serve_in: Sequence[str] = ()
    """Put before the command of a server, this runs it where that address is."""

    push_in: Sequence[str] = ()
    """Put before the command of a client, this runs it at the other end."""

    def free_port(self) -> int:
        """A port of the server's address on which nobody listens now."""
        return next(_ports) if self.serve_in else _free_port_of_loopback()


@dataclass(frozen=True)
class Place:
    """Where a peer works."""

    processes: Processes
    scratch: Path
    """For configurations and keys."""

    corpus: Corpus
    target: Path
    """Where the server stores; emptied before each run."""

    route: Route = field(default_factory=Route)
    limit: float | None = None
    """Seconds that a client may take."""

    def directory(self, name: str) -> Path:
        """A directory of one peer's own."""
        path = self.scratch / name
        path.mkdir(exist_ok=True)
        return path


class Peer(ABC):
    """A server and a client. Only `push` is timed. All of them raise CommandFailed when something goes wrong, and
    TookTooLong when a client does not end in the time of the place."""

    name: str
    """As in the report."""

    promise: str
    """What it has made sure of when the client ends with success."""

    def __init__(self, place: Place) -> None:
        self.place = place
        self._servers: list[Process] = []

    def prepare(self) -> None:
        """Starts what serves all runs."""

    def arm(self) -> None:
        """Makes ready for one run, with the target empty."""

    @abstractmethod
    def push(self) -> None:
        """Pushes the whole corpus, and returns when the client has ended."""

    def disarm(self) -> None:
        """Ends what `arm` has started."""

    def close(self) -> None:
        """Ends every server that still runs."""
        for server in reversed(self._servers):
            self.place.processes.stop(server)
        self._servers.clear()

    def serve(self, command: Sequence[str], environment: Mapping[str, str] | None = None) -> Process:
        """Starts a server at its end of the route."""
        server = self.place.processes.start([*self.place.route.serve_in, *command], environment=environment)
        self._servers.append(server)
        return server

    def run(self, command: Sequence[str], environment: Mapping[str, str] | None = None) -> None:
        """Runs a client at its end of the route."""
        command = [*self.place.route.push_in, *command]
        self.place.processes.run(command, environment=environment, limit=self.place.limit)


def _free_port_of_loopback() -> int:
    with socket.socket() as probe:
        probe.bind((LOOPBACK, 0))
        port: int = probe.getsockname()[1]
        return port


def is_root() -> bool:
    return os.geteuid() == 0
