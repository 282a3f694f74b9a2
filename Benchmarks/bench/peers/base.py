"""The base class of all ways of sending files."""

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

# Ports for a server that is alone in its namespace, below those that the system gives to connections (ip(7),
# ip_local_port_range).
_ports = count(20_000)


@dataclass(frozen=True)
class Route:
    """The route from a client to its server; by default, loopback."""

    host: str = LOOPBACK
    """The address of the server."""

    serve_in: Sequence[str] = ()
    """A prefix for commands that run where the server's address is."""

    push_in: Sequence[str] = ()
    """A prefix for commands that run at the client's end."""

    def free_port(self) -> int:
        """A port of the server's address on which no process listens now."""
        return next(_ports) if self.serve_in else _free_port_of_loopback()


@dataclass(frozen=True)
class Place:
    """The place in which a peer works."""

    processes: Processes
    scratch: Path
    """A directory for configurations and keys."""

    corpus: Corpus
    target: Path
    """The directory in which the server stores. It is emptied before each run."""

    route: Route = field(default_factory=Route)
    limit: float | None = None
    """Seconds that a client may take."""

    def directory(self, name: str) -> Path:
        """A directory for the files of one peer."""
        path = self.scratch / name
        path.mkdir(exist_ok=True)
        return path


class Peer(ABC):
    """A server and a client. Only `push` is timed. All methods raise CommandFailed if something goes wrong, and
    TookTooLong if a client exceeds the time limit of the place."""

    name: str
    """The name in the report."""

    promise: str
    """The guarantee that the client gives when it ends with success."""

    def __init__(self, place: Place) -> None:
        self.place = place
        self._servers: list[Process] = []

    def prepare(self) -> None:
        """Starts servers for all runs."""

    def arm(self) -> None:
        """Prepares one run, after the target was emptied."""

    @abstractmethod
    def push(self) -> None:
        """Pushes the whole corpus, and returns when the client has ended."""

    def disarm(self) -> None:
        """Ends the processes that `arm` has started."""

    def close(self) -> None:
        """Ends all running servers."""
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
