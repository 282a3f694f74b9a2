"""The cost of one run: seconds of the clock, seconds of processors, bytes over loopback."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType


@dataclass(frozen=True)
class Sample:
    """The measurements of one run."""

    wall: float
    """Seconds from the start of the client to its end."""

    cpu: float
    """Processor seconds of all programs on the machine."""

    wire: int = 0
    """Bytes over loopback in both directions, headers included."""


class Stopwatch:
    """Measures the code inside a `with` block."""

    sample: Sample

    def __enter__(self) -> Stopwatch:
        self._cpu, self._wire = busy_seconds(), loopback_bytes()
        self._start = time.perf_counter()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        wall = time.perf_counter() - self._start
        self.sample = Sample(wall, busy_seconds() - self._cpu, loopback_bytes() - self._wire)


def busy_seconds() -> float:
    """Seconds that the machine's processors have worked since it was started."""
    return busy_ticks(Path("/proc/stat").read_text()) / os.sysconf("SC_CLK_TCK")


def busy_ticks(stat: str) -> int:
    """User, nice, system, interrupts and soft interrupts of the first line of /proc/stat (proc(5)). Excludes idle time,
    waits for disks, and time taken by the host."""
    user, nice, system, _idle, _iowait, irq, softirq = (int(field) for field in stat.split()[1:8])
    return user + nice + system + irq + softirq


def loopback_bytes() -> int:
    """Bytes that the loopback interface has carried."""
    return interface_bytes(Path("/proc/self/net/dev").read_text(), "lo")


def interface_bytes(text: str, interface: str) -> int:
    """Bytes received by an interface, from the text of /proc/net/dev."""
    for line in text.splitlines():
        name, colon, fields = line.partition(":")
        if colon and name.strip() == interface:
            return int(fields.split()[0])
    return 0
