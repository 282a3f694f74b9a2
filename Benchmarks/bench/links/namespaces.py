"""Two network namespaces, one for the client and one for the server."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from ..peers import Route
from ..processes import CommandFailed, Processes
from ..signals import undisturbed


@dataclass(frozen=True)
class End:
    """One end of a link."""

    namespace: str
    address: str

    @property
    def prefix(self) -> list[str]:
        """A prefix for commands that run at this end."""
        return ["ip", "netns", "exec", self.namespace]

    @property
    def ip(self) -> list[str]:
        """A prefix for arguments of ip(8) that configure the network of this end."""
        return ["ip", "-n", self.namespace]


Ends = tuple[End, End]
"""The end of the client and the end of the server."""


@contextmanager
def two_namespaces(processes: Processes) -> Iterator[Ends]:
    """Makes the namespaces, and removes them at the end together with all processes in them. Needs root. Raises
    CommandFailed if the kernel does not allow it.

    The addresses are from the block for benchmarks (RFC 2544) and exist only in the namespaces.
    """
    ends = End(f"transfer-bench-{os.getpid()}-a", "198.18.0.1"), End(f"transfer-bench-{os.getpid()}-b", "198.18.0.2")
    try:
        for end in ends:
            processes.run(["ip", "netns", "add", end.namespace])
            processes.run([*end.ip, "link", "set", "lo", "up"])
        yield ends
    finally:
        with undisturbed():
            processes.stop_all()
            for end in ends:
                _end_all_in(end.namespace)
                # A namespace that was never made causes no error.
                with suppress(CommandFailed):
                    processes.run(["ip", "netns", "delete", end.namespace])


def route(ends: Ends) -> Route:
    """The route from the first end to the second."""
    client, server = ends
    return Route(server.address, server.prefix, client.prefix)


def _end_all_in(namespace: str) -> None:
    """Kills all processes in a namespace. sshd gives each connection a separate session, which outlives it and waits
    for a client that is gone."""
    found = subprocess.run(["ip", "netns", "pids", namespace], capture_output=True, text=True, check=False)
    for pid in found.stdout.split():
        with suppress(ProcessLookupError):
            os.kill(int(pid), signal.SIGKILL)
