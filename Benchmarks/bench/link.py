"""A slow network: two namespaces with a cable between them that lets only so much through."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from .processes import CommandFailed, Processes

# How much may pass at once before the rate counts: 10 ms at 100 Mbit/s. How long a packet may wait before it is
# dropped: what routers at home allow, about (tc-tbf(8)).
_BURST = "128kb"
_LATENCY = "50ms"


@dataclass(frozen=True)
class End:
    """One end of the cable."""

    namespace: str
    address: str

    @property
    def prefix(self) -> list[str]:
        """Put before a command, this runs it at this end."""
        return ["ip", "netns", "exec", self.namespace]


@contextmanager
def slow_link(processes: Processes, rate: str) -> Iterator[tuple[End, End]]:
    """Makes the link and removes it in the end. Needs root. Raises CommandFailed where the kernel does not allow it.

    The addresses are of the block for benchmarks (RFC 2544) and known in the namespaces only.
    """
    ends = End(f"transfer-bench-{os.getpid()}-a", "198.18.0.1"), End(f"transfer-bench-{os.getpid()}-b", "198.18.0.2")
    try:
        _make(processes, ends, rate)
        yield ends
    finally:
        processes.stop_all()
        for end in ends:
            _remove(processes, end)


def _make(processes: Processes, ends: tuple[End, End], rate: str) -> None:
    for end in ends:
        processes.run(["ip", "netns", "add", end.namespace])
    here, there = ends
    cable = ["type", "veth", "peer", "name", "cable", "netns", there.namespace]
    processes.run(["ip", "-n", here.namespace, "link", "add", "cable", *cable])
    for end in ends:
        ip = ["ip", "-n", end.namespace]
        processes.run([*ip, "address", "add", f"{end.address}/30", "dev", "cable"])
        processes.run([*ip, "link", "set", "lo", "up"])
        processes.run([*ip, "link", "set", "cable", "up"])
        shape = ["tbf", "rate", rate, "burst", _BURST, "latency", _LATENCY]
        processes.run(["tc", "-n", end.namespace, "qdisc", "add", "dev", "cable", "root", *shape])


def _remove(processes: Processes, end: End) -> None:
    """The cable goes with the namespace. One that was never made is no reason to complain."""
    with suppress(CommandFailed):
        processes.run(["ip", "netns", "delete", end.namespace])
