"""Resident memory of programs, in KiB."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from .processes import CommandFailed


def serving_process(supervisor: int) -> int:
    """The process that serves: the one that was started only supervises it, where the program has such a thing."""
    children = Path(f"/proc/{supervisor}/task/{supervisor}/children").read_text().split()
    return int(children[0]) if children else supervisor


def resident(pid: int) -> int:
    """What it takes now."""
    return _status(pid, "VmRSS")


def peak(pid: int) -> int:
    """The most that it took at any time, or since `forget_peak`."""
    return _status(pid, "VmHWM")


def forget_peak(pid: int) -> None:
    """Lets the peak begin again with what the process takes now (proc(5), clear_refs). Raises CommandFailed where the
    kernel has no such thing."""
    try:
        Path(f"/proc/{pid}/clear_refs").write_text("5")
    except OSError as error:
        raise CommandFailed(f"the peak of memory cannot begin again: {error.strerror}") from error


def reporting(report: Path) -> list[str]:
    """Put before the command of a program, this writes its peak to a file in the end.

    Not wait4(2): what that tells includes the memory of the process that forked, which is this one.
    """
    return ["time", "--format=%M", f"--output={report}"]


def reported(report: Path) -> int:
    """What such a command has written."""
    return int(report.read_text().split()[-1])


class Peaks:
    """The peaks of a server and its clients in several works."""

    def __init__(self, report: Path) -> None:
        """`report` is a file for what is said of the clients."""
        self.found: dict[str, tuple[int, int]] = {}
        """Of each work, the most that server and client have taken."""

        self.client_in = reporting(report)
        """What is put before the command of a client."""

        self._report = report

    @contextmanager
    def during(self, work: str, supervisor: int) -> Iterator[None]:
        """Notes the peaks of the block, in which one client runs."""
        server = serving_process(supervisor)
        forget_peak(server)
        yield
        most_of_server, most_of_client = self.found.get(work, (0, 0))
        self.found[work] = max(most_of_server, peak(server)), max(most_of_client, reported(self._report))


def _status(pid: int, field: str) -> int:
    """A field of /proc/PID/status (proc(5))."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith(f"{field}:"):
            return int(line.split()[1])
    raise RuntimeError(f"/proc/{pid}/status has no {field}")
