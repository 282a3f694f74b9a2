"""A far network: an emulator carries the packets between two namespaces, with a rate, a delay and losses."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from ..peers import Route
from ..processes import CommandFailed, Processes
from .namespaces import Ends, route, two_namespaces

# The largest packet that the emulator carries (emulator.c), and a queue of the device that a burst of one sender does
# not fill: only the emulated queue may drop packets.
_MTU = 1500
_DEVICE_QUEUE = 2000

# The congestion control that most machines use by default. Both ends use it, for all programs.
_CONGESTION_CONTROL = "reno"

_SOURCE = Path(__file__).with_name("emulator.c")


@dataclass(frozen=True)
class FarLink:
    """A link with the properties of a long distance."""

    name: str
    megabits: float
    """Mbit/s each way."""

    round_trip: float
    """Milliseconds from one end to the other and back."""

    loss: float
    """Percent of the packets each way."""

    @property
    def line_rate(self) -> float:
        """The rate in bytes a second."""
        return self.megabits * 1e6 / 8

    def __str__(self) -> str:
        loss = f"{self.loss:g} % loss each way" if self.loss else "no loss"
        return f"{self.megabits:g} Mbit/s, {self.round_trip:g} ms round trip, {loss}, TCP {_CONGESTION_CONTROL}"


def obstacle() -> str | None:
    """The reason why no far link can be made on this machine, or None if no reason is known."""
    if not Path("/dev/net/tun").exists():
        return "there is no /dev/net/tun"
    if shutil.which("cc") is None:
        return "there is no C compiler, cc"
    return None


def build_emulator(processes: Processes, directory: Path) -> Path:
    """Compiles the emulator in the directory. Raises CommandFailed if that fails."""
    program = directory / "emulator"
    processes.run(["cc", "-O2", "-o", str(program), str(_SOURCE)])
    return program


@contextmanager
def far_link(processes: Processes, link: FarLink, emulator: Path) -> Iterator[Route]:
    """Makes the link, and removes it at the end. Needs root. Raises CommandFailed if the kernel does not allow it."""
    with two_namespaces(processes) as ends:
        _start(processes, link, ends, emulator)
        for mine, theirs in (ends, ends[::-1]):
            address = ["address", "add", mine.address, "peer", theirs.address, "dev", "tun0"]
            device = ["link", "set", "tun0", "mtu", str(_MTU), "txqueuelen", str(_DEVICE_QUEUE), "up"]
            processes.run([*mine.ip, *address])
            processes.run([*mine.ip, *device])
            _choose_congestion_control(processes, mine.prefix)
        yield route(ends)


def _start(processes: Processes, link: FarLink, ends: Ends, emulator: Path) -> None:
    figures = [f"{figure:g}" for figure in (link.megabits, link.round_trip / 2, link.loss)]
    running = processes.start([str(emulator), *(end.namespace for end in ends), *figures])
    running.wait_until(lambda: "ready" in running.log, "did not make a far link")


def _choose_congestion_control(processes: Processes, prefix: list[str]) -> None:
    setting = "/proc/sys/net/ipv4/tcp_congestion_control"
    try:
        processes.run([*prefix, "sh", "-c", f"echo {_CONGESTION_CONTROL} >{setting}"])
    except CommandFailed as failure:
        raise CommandFailed(f"there is no TCP {_CONGESTION_CONTROL}: {failure}") from failure
