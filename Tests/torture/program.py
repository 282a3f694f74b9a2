"""Servers and clients: starts and kills them, and examines their state."""

from __future__ import annotations

import json
import os
import random
import re
import select
import shlex
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import children

children.have_default_signals()

# Seconds that a program may take to start, to become idle, or to end.
PATIENCE = children.PATIENCE
# Seconds between two checks of a condition that cannot be waited for.
_POLL = 0.001

# Characters of an argument to show; paths are shorter.
_SHOWN = 300

# Digits of an upload ID, with which the names of the upload's files begin.
_ID = 32

# Ports below those that the system gives to clients: a client could otherwise take the port of a killed server.
_FIRST_PORT = 20_000
_RANGE = Path("/proc/sys/net/ipv4/ip_local_port_range")


class Broken(Exception):
    """A promise was broken; the message says which."""


class Refused(Broken):
    """A server printed why it does not start, and ended."""


def free_port(source: random.Random) -> int:
    """A free port on loopback."""
    above = int(_RANGE.read_text().split()[0]) if _RANGE.exists() else 32_768
    while True:
        port = source.randrange(_FIRST_PORT, above)
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", port))
                return port
            except OSError:
                continue


def until(happened: Callable[[], bool], process: subprocess.Popen[bytes], otherwise: str) -> None:
    """Waits until a process has done something. Raises Broken if that does not happen in time.

    `happened` notices if the process has ended, and the end of the process ends the wait at once.
    """
    deadline = time.monotonic() + PATIENCE
    end = os.pidfd_open(process.pid)
    try:
        while not happened():
            if time.monotonic() > deadline:
                raise Broken(f"{otherwise}\n{children.describe(process.pid)}")
            # Writes to a file and closed descriptors cause no event, so the condition is checked again.
            select.select([end], [], [], _POLL)
    finally:
        os.close(end)


def _stands(process: int) -> bool:
    """Whether all threads of a process are stopped, and none is inside a system call."""
    try:
        threads = Path(f"/proc/{process}/task").iterdir()
        return all((thread / "stat").read_text().rpartition(") ")[2][0] == "T" for thread in threads)
    except OSError:
        # A thread has just ended.
        return False


class Server:
    """A server directory and its server, which can be killed and started again."""

    def __init__(
        self,
        transfer: Path,
        directory: Path,
        log: Path,
        port: int,
        within: Sequence[str] = (),
        flags: Sequence[str] = ("--plaintext",),
    ) -> None:
        """`within` is a command that runs the command appended to it."""
        self.directory = directory
        self.log = log
        self.port = port
        self.starts = 0
        self.command = [*within, str(transfer), "serve", "--dir", str(directory), "--listen", f"127.0.0.1:{port}"]
        self.command += [*flags, "--log-format", "json"]
        self._process: subprocess.Popen[bytes] | None = None
        self._worker = 0
        self._resting = self._listening = 0

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    def start(self) -> None:
        self.starts += 1
        begin = self.log.stat().st_size if self.log.exists() else 0
        self._worker = 0
        with self.log.open("ab") as errors:
            self._process = subprocess.Popen(self.command, stdin=subprocess.DEVNULL, stdout=errors, stderr=errors)
        until(lambda: self._listens(begin), self._process, "the server did not start again")
        self._worker = self._find_worker(self._process.pid)
        self._resting, self._listening = self.descriptors, self._sockets

    @staticmethod
    def _find_worker(supervisor: int) -> int:
        """The worker, which the started process supervises."""
        children = Path(f"/proc/{supervisor}/task/{supervisor}/children").read_text().split()
        return int(children[0]) if children else supervisor

    def _listens(self, begin: int) -> bool:
        with self.log.open("rb") as log:
            log.seek(begin)
            if b'"event":"listening"' in log.read():
                return True
        if self._process is not None and self._process.poll() is not None:
            status = self._process.returncode
            raise (Refused if status > 0 else Broken)(f"the server ended with status {status} instead of listening")
        return False

    @property
    def runs(self) -> bool:
        """Whether the server was started and has not been ended since."""
        return self._process is not None

    def kill(self) -> None:
        process = self._running
        # The worker ends a little later than its supervisor; only then are port and directory free.
        end = os.pidfd_open(self._worker)
        try:
            process.send_signal(signal.SIGKILL)
            self._expect(process, -signal.SIGKILL)
            if not select.select([end], [], [], PATIENCE)[0]:
                raise Broken(f"the server's worker did not end with it\n{children.describe(self._worker)}")
        finally:
            os.close(end)
        self._drop_torn_line()

    def _drop_torn_line(self) -> None:
        """Removes an incomplete last line. A kill can cut off a write, and the first line of the next server would
        continue that line of the log."""
        with self.log.open("r+b") as log:
            written = log.read()
            log.truncate(written.rfind(b"\n") + 1)

    def freeze(self) -> None:
        """Suspends the server: it sends nothing more. Only `kill` or `thaw` may follow."""
        process = self._running
        for number in (process.pid, self._worker):
            os.kill(number, signal.SIGSTOP)
        until(self._stands, process, "the server cannot be stopped")

    def thaw(self) -> None:
        """Resumes the suspended server."""
        process = self._running
        for number in (self._worker, process.pid):
            os.kill(number, signal.SIGCONT)

    def _stands(self) -> bool:
        """Whether all threads of the server are stopped, and none is inside a system call."""
        assert self._process is not None
        if self._process.poll() is not None:
            raise Broken(f"the server ended with status {self._process.returncode}")
        return _stands(self._process.pid) and _stands(self._worker)

    def stop(self) -> None:
        """Ends the server in order, if it runs. Raises Broken if that fails."""
        if self._process is None:
            return
        process = self._running
        process.send_signal(signal.SIGTERM)
        self._expect(process, 0)

    def abandon(self) -> None:
        """Kills the server without checking its state."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def _expect(self, process: subprocess.Popen[bytes], status: int) -> None:
        try:
            process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            raise Broken(f"the server did not end\n{children.describe(process.pid)}") from None
        self._process = None
        if process.returncode != status:
            raise Broken(f"the server ended with status {process.returncode}")

    @property
    def _running(self) -> subprocess.Popen[bytes]:
        if self._process is None:
            raise Broken("the server is not there")
        if self._process.poll() is not None:
            raise Broken(f"the server ended by itself with status {self._process.returncode}")
        if self._worker and self._find_worker(self._process.pid) != self._worker:
            raise Broken("the process that serves was ended by a signal: see .transfer/crashes in the server's directory")
        return self._process

    @property
    def descriptors(self) -> int:
        _ = self._running
        return len(os.listdir(f"/proc/{self._worker}/fd"))

    @property
    def _sockets(self) -> int:
        folder = f"/proc/{self._worker}/fd"
        count = 0
        for name in os.listdir(folder):
            try:
                count += os.readlink(f"{folder}/{name}").startswith("socket:")
            except FileNotFoundError:
                continue
        return count

    def lose_clients(self) -> None:
        """Waits until the server has no connections, so that no more data from killed clients arrives. Raises Broken if
        the server keeps a connection."""
        until(lambda: self._sockets <= self._listening, self._running, "the server keeps connections of clients that are gone")

    def rest(self, spare: int) -> int:
        """Waits until the server has at most `spare` more descriptors than after its start.

        Returns the number of additional descriptors. Raises Broken if the server keeps more.
        """
        most = self._resting + spare
        until(lambda: self.descriptors <= most, self._running, f"the idle server keeps more than {most} descriptors open")
        return self.descriptors - self._resting

    @property
    def memory(self) -> int:
        """The server's peak memory use in bytes."""
        _ = self._running
        status = Path(f"/proc/{self._worker}/status").read_text()
        found = re.search(r"^VmHWM:\s+(\d+) kB$", status, re.MULTILINE)
        return int(found[1]) << 10 if found else 0

    @property
    def unfinished(self) -> list[str]:
        """The IDs of the uploads for which the server keeps files: parts, sheets, and notes of published parts."""
        incoming = self.directory / ".transfer" / "incoming"
        return sorted({name[:_ID] for name in os.listdir(incoming)}) if incoming.exists() else []

    def strange_words(self) -> list[str]:
        """Lines of the log that no server should write; for example, a crash writes its reason there."""
        strange = []
        for line in self.log.read_bytes().splitlines():
            try:
                found = json.loads(line)
            except ValueError:
                strange.append(line.decode(errors="replace"))
                continue
            if found.get("level") == "error":
                strange.append(line.decode(errors="replace"))
        return strange


@dataclass(frozen=True)
class Run:
    """The result of one run of a client."""

    output: bytes
    errors: str
    status: int
    seconds: float
    # Number of lines at the time of a kill, or None without a kill.
    lines_at_kill: int | None


class Client:
    """One run of a client, such as `transfer push`."""

    def __init__(self, command: Sequence[str], directory: Path, stdin: bytes | None, errors: Path) -> None:
        self.command = list(command)
        self._errors = errors
        self._started = time.monotonic()
        self._input = errors.with_suffix(".input")
        self._input.write_bytes(stdin or b"")
        with errors.open("wb") as log, self._input.open("rb") as source:
            self._process = subprocess.Popen(command, cwd=directory, stdin=source, stdout=subprocess.PIPE, stderr=log)
        self._output = b""
        self._lines_at_kill: int | None = None

    @property
    def shown(self) -> str:
        """The command as a user could type it, except for long texts."""
        return shlex.join(word if len(word) <= _SHOWN else f"{word[:_SHOWN]}..." for word in self.command)

    def wait_for(self, seconds: float, lines: int | None) -> bool:
        """Waits until the client has printed that many lines, or for that many seconds. Returns False if the client
        ended before."""
        deadline = self._started + (PATIENCE if lines else seconds)
        while lines is None or self._output.count(b"\n") < lines:
            left = deadline - time.monotonic()
            if left <= 0:
                break
            if not self._read(left):
                return False
        return True

    def said(self) -> bytes:
        """All output of the client so far."""
        before = -1
        while before < len(self._output):
            before = len(self._output)
            self._read(0)
        return self._output

    def mark(self) -> None:
        """Records the number of lines at the time of a kill."""
        self._lines_at_kill = self._output.count(b"\n")

    def kill(self) -> None:
        self._process.kill()

    @property
    def has_ended(self) -> bool:
        """Whether the client has ended by itself."""
        return self._process.poll() is not None

    def stop(self) -> None:
        """Asks the client to end."""
        self._process.terminate()

    def freeze(self) -> None:
        """Suspends the client, so that it does nothing and prints nothing. Has no effect if the client has ended. Only
        `kill` or `thaw` may be called next."""
        if self.has_ended:
            return
        self._process.send_signal(signal.SIGSTOP)
        until(lambda: self._process.poll() is not None or _stands(self._process.pid), self._process, "the client cannot be stopped")

    def thaw(self) -> None:
        """Resumes the suspended client."""
        self._process.send_signal(signal.SIGCONT)

    def finish(self) -> Run:
        """Waits for the client to end. Raises Broken if it does not end in time."""
        deadline = time.monotonic() + PATIENCE * 4
        while self._read(max(0.0, deadline - time.monotonic())):
            if time.monotonic() > deadline:
                present = children.describe(self._process.pid)
                self.abandon()
                raise Broken(f"the client did not end: {self._errors.read_text(errors='replace')[-500:]}\n{present}")
        status = self._process.wait()
        errors = self._errors.read_text(errors="replace")
        return Run(self._output, errors, status, time.monotonic() - self._started, self._lines_at_kill)

    def abandon(self) -> None:
        """Kills the client without checking its state."""
        self._process.kill()
        self._process.wait()
        if self._process.stdout is not None:
            self._process.stdout.close()

    def _read(self, seconds: float) -> bool:
        """Reads output for that many seconds. Returns False at the end of the output."""
        stream = self._process.stdout
        if stream is None or stream.closed:
            return False
        ready, _, _ = select.select([stream], [], [], seconds)
        if not ready:
            return True
        data = os.read(stream.fileno(), 1 << 16)
        self._output += data
        if not data:
            stream.close()
        return bool(data)
