"""Resident memory of programs, in KiB."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from .processes import CommandFailed


def serving_process(supervisor: int) -> int:
    """The process that serves. The process that was started may be only its supervisor."""
    children = Path(f"/proc/{supervisor}/task/{supervisor}/children").read_text().split()
    return int(children[0]) if children else supervisor


def resident(pid: int) -> int:
    """The present resident memory of a process."""
    return _status(pid, "VmRSS")


def peak(pid: int) -> int:
    """The peak memory of a process since its start or since `forget_peak`."""
    return _status(pid, "VmHWM")


def forget_peak(pid: int) -> None:
    """Resets the peak to the present memory of the process (proc(5), clear_refs). Raises CommandFailed if the kernel
    does not support that."""
    try:
        Path(f"/proc/{pid}/clear_refs").write_text("5")
    except OSError as error:
        raise CommandFailed(f"the peak of memory cannot begin again: {error.strerror}") from error


def reporting(report: Path) -> list[str]:
    """A prefix for a command that writes the peak memory of the program to a file when the program ends.

    The figure of wait4(2) cannot be used instead: it includes the memory of the process that forked, which is this one.
    """
    return ["time", "--format=%M", f"--output={report}"]


def reported(report: Path) -> int:
    """Reads the file that a command with the prefix `reporting(report)` has written."""
    return int(report.read_text().split()[-1])


class Peaks:
    """The peaks of a server and its clients in several works."""

    def __init__(self, report: Path) -> None:
        """`report` is a file for the peak memory of a client."""
        self.found: dict[str, tuple[int, int]] = {}
        """The peaks of server and client in each work."""

        self.client_in = reporting(report)
        """A prefix for the commands of the client."""

        self._report = report

    @contextmanager
    def during(self, work: str, supervisor: int) -> Iterator[None]:
        """Records the peaks of the block, in which one client runs."""
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
