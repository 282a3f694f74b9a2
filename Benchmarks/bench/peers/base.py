"""What all ways of sending files have in common."""

from __future__ import annotations

import os
import socket
from abc import ABC, abstractmethod
from dataclasses import dataclass
from pathlib import Path

from ..corpus import Corpus
from ..processes import Processes

LOOPBACK = "127.0.0.1"


@dataclass(frozen=True)
class Place:
    """Where a peer works."""

    processes: Processes
    scratch: Path
    """For configurations and keys."""

    corpus: Corpus
    target: Path
    """Where the server stores; emptied before each run."""

    def directory(self, name: str) -> Path:
        """A directory of one peer's own."""
        path = self.scratch / name
        path.mkdir(exist_ok=True)
        return path


class Peer(ABC):
    """A server and a client. Only `push` is timed. All of them raise CommandFailed when something goes wrong."""

    name: str
    """As in the report."""

    promise: str
    """What it has made sure of when the client ends with success."""

    def __init__(self, place: Place) -> None:
        self.place = place

    def prepare(self) -> None:
        """Starts what serves all runs."""

    def arm(self) -> None:
        """Makes ready for one run, with the target empty."""

    @abstractmethod
    def push(self) -> None:
        """Pushes the whole corpus, and returns when the client has ended."""

    def disarm(self) -> None:
        """Ends what `arm` has started."""


def free_port() -> int:
    """A port of loopback on which nobody listens now."""
    with socket.socket() as probe:
        probe.bind((LOOPBACK, 0))
        port: int = probe.getsockname()[1]
        return port


def is_root() -> bool:
    return os.geteuid() == 0
