"""A slow network: a cable between two namespaces with a limited rate."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ..peers import Route
from ..processes import Processes
from .namespaces import Ends, route, two_namespaces

# Bytes that may pass before the rate applies: 10 ms at 100 Mbit/s. Time that a packet may wait before it is dropped,
# roughly as in home routers (tc-tbf(8)).
_BURST = "128kb"
_LATENCY = "50ms"


@contextmanager
def slow_link(processes: Processes, rate: str) -> Iterator[Route]:
    """Makes the link, and removes it at the end. Needs root. Raises CommandFailed if the kernel does not allow it."""
    with two_namespaces(processes) as ends:
        _lay_cable(processes, ends, rate)
        yield route(ends)


def _lay_cable(processes: Processes, ends: Ends, rate: str) -> None:
    here, there = ends
    cable = ["type", "veth", "peer", "name", "cable", "netns", there.namespace]
    processes.run([*here.ip, "link", "add", "cable", *cable])
    for end in ends:
        processes.run([*end.ip, "address", "add", f"{end.address}/30", "dev", "cable"])
        processes.run([*end.ip, "link", "set", "cable", "up"])
        shape = ["tbf", "rate", rate, "burst", _BURST, "latency", _LATENCY]
        processes.run(["tc", "-n", end.namespace, "qdisc", "add", "dev", "cable", "root", *shape])
