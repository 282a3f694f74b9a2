"""Other programs, started in separate sessions, so that each can be ended with all its children."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO

# All durations are in seconds.
_START_PATIENCE = 180.0
_STOP_PATIENCE = 10.0
_POLL = 0.005

# The state of a listening socket in /proc/net/tcp (include/net/tcp_states.h).
_LISTENING = "0A"


class CommandFailed(Exception):
    """A program ended with an error or did not start; the message has its last output."""


class TookTooLong(Exception):
    """A program exceeded its time limit and was ended."""

    def __init__(self, limit: float) -> None:
        """`limit` is the time limit in seconds."""
        super().__init__(f"over {limit:g} s")
        self.limit = limit


class Process:
    """One running program, whose standard error goes to a file."""

    def __init__(self, popen: subprocess.Popen[bytes], command: Sequence[str], log: Path) -> None:
        self.popen = popen
        self.command = command
        self._log = log

    @property
    def pid(self) -> int:
        return self.popen.pid

    @property
    def log(self) -> str:
        """The program's standard error so far."""
        return self._log.read_text(errors="replace")

    def finish(self, limit: float | None = None) -> None:
        """Waits for the program to end. Raises CommandFailed if it failed, and subprocess.TimeoutExpired if it has not
        ended after `limit` seconds."""
        status = self.popen.wait(limit)
        if status != 0:
            raise self.failure(f"ended with status {status}")

    def forget_log(self) -> None:
        self._log.unlink(missing_ok=True)

    def failure(self, what: str) -> CommandFailed:
        last = " ".join(self.log.split())[-300:]
        return CommandFailed(f"{Path(self.command[0]).name} {what}: {last}")

    def wait_until_listening(self, port: int) -> None:
        """Waits until a process listens on the port, without connecting to the port: some servers accept only one
        connection."""
        self.wait_until(lambda: _listens(self.pid, port), f"did not listen on port {port}")

    def wait_until(self, happened: Callable[[], bool], otherwise: str) -> None:
        """Waits until the condition holds. Raises CommandFailed if it does not become true in time, or the program
        ends."""
        deadline = time.monotonic() + _START_PATIENCE
        while not happened():
            if self.popen.poll() is not None or time.monotonic() > deadline:
                raise self.failure(otherwise)
            time.sleep(_POLL)


class Processes:
    """All programs that were started and not stopped yet."""

    def __init__(self, logs: Path) -> None:
        self.logs = logs
        self._running: list[Process] = []
        self._started = 0

    def start(
        self,
        command: Sequence[str],
        stdin: IO[bytes] | None = None,
        stdout: IO[bytes] | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> Process:
        """Starts a program without waiting. Raises CommandFailed if it cannot be started."""
        self._started += 1
        log = self.logs / f"{self._started}.log"
        with log.open("wb") as errors:
            try:
                popen = subprocess.Popen(
                    command,
                    stdin=stdin or subprocess.DEVNULL,
                    stdout=stdout or subprocess.DEVNULL,
                    stderr=errors,
                    env={**os.environ, **(environment or {})},
                    start_new_session=True,
                )
            except OSError as error:
                raise CommandFailed(f"{Path(command[0]).name} did not start: {error.strerror}") from error
        process = Process(popen, command, log)
        self._running.append(process)
        return process

    def run(
        self,
        command: Sequence[str],
        stdin: IO[bytes] | None = None,
        environment: Mapping[str, str] | None = None,
        limit: float | None = None,
    ) -> None:
        """Runs a program to its end. Raises CommandFailed if it failed, and TookTooLong if it exceeded `limit` seconds
        and was ended."""
        process = self.start(command, stdin=stdin, environment=environment)
        try:
            process.finish(limit)
        except subprocess.TimeoutExpired as expired:
            self.stop(process)
            raise TookTooLong(expired.timeout) from None
        self._forget(process)

    def stop(self, process: Process) -> None:
        """Ends a program and all its children, first with SIGTERM. A program that was stopped already is ignored."""
        if process not in self._running:
            return
        _signal(process, signal.SIGTERM)
        try:
            process.popen.wait(_STOP_PATIENCE)
        except subprocess.TimeoutExpired:
            _signal(process, signal.SIGKILL)
            process.popen.wait()
        _signal(process, signal.SIGKILL)
        _wait_for_children(process)
        self._forget(process)

    def stop_all(self) -> None:
        """Ends all programs, the youngest first: clients before the servers that wait for them."""
        for process in reversed(list(self._running)):
            self.stop(process)

    def _forget(self, process: Process) -> None:
        process.forget_log()
        if process in self._running:
            self._running.remove(process)


def _signal(process: Process, number: signal.Signals) -> None:
    with suppress(ProcessLookupError):
        os.killpg(process.pid, number)


def _wait_for_children(process: Process) -> None:
    """Waits until killed children have ended: until then, they can still write and listen."""
    deadline = time.monotonic() + _STOP_PATIENCE
    while _has_running_members(process.pid) and time.monotonic() < deadline:
        time.sleep(_POLL)


def _has_running_members(group: int) -> bool:
    """Whether a process of the group has not ended. A zombie has ended, but is still a member."""
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return any(_is_running_member(stat, group) for stat in Path("/proc").glob("[0-9]*/stat"))


def _is_running_member(stat: Path, group: int) -> bool:
    try:
        # The name in parentheses may contain any character; state, parent and group follow it (proc_pid_stat(5)).
        state, _, of_group, *_ = stat.read_text(errors="replace").rpartition(")")[2].split()
    except (OSError, ValueError):
        return False
    return int(of_group) == group and state not in "ZX"


def _listens(pid: int, port: int) -> bool:
    """Whether a process listens on the port in the network namespace of `pid`."""
    try:
        text = Path(f"/proc/{pid}/net/tcp").read_text()
    except OSError:
        return False
    wanted = f":{port:04X}"
    lines = (line.split() for line in text.splitlines()[1:])
    return any(fields[1].endswith(wanted) and fields[3] == _LISTENING for fields in lines)
