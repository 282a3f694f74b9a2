"""Servers and clients: started, killed, and asked how they are."""

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

# Seconds that a program may take to start, to come to rest, or to end.
PATIENCE = children.PATIENCE
# Seconds between two looks at what cannot be waited for.
_POLL = 0.001

# Characters of an argument that are shown: paths are shorter.
_SHOWN = 300

# Ports below those that the system gives to clients: one of those could take the place of a server that was killed.
_FIRST_PORT = 20_000
_RANGE = Path("/proc/sys/net/ipv4/ip_local_port_range")


class Broken(Exception):
    """A promise was broken; the message says which."""


class Refused(Broken):
    """A server said why it does not start, and ended."""


def free_port(source: random.Random) -> int:
    """A port on loopback that nobody listens on."""
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
    """Waits for something that a process does. Raises Broken when it doesn't happen.

    `happened` finds out when the process has ended, which ends the wait at once.
    """
    deadline = time.monotonic() + PATIENCE
    end = os.pidfd_open(process.pid)
    try:
        while not happened():
            if time.monotonic() > deadline:
                raise Broken(f"{otherwise}\n{children.describe(process.pid)}")
            # What it writes to a file and the descriptors that it closes tell nobody, so these are looked at again.
            select.select([end], [], [], _POLL)
    finally:
        os.close(end)


def _stands(process: int) -> bool:
    """Whether no thread of a process runs or is within a call."""
    try:
        threads = Path(f"/proc/{process}/task").iterdir()
        return all((thread / "stat").read_text().rpartition(") ")[2][0] == "T" for thread in threads)
    except OSError:
        # One has just ended.
        return False


class Server:
    """One server directory with the server in it, which may be killed and started again."""

    def __init__(
        self,
        transfer: Path,
        directory: Path,
        log: Path,
        port: int,
        within: Sequence[str] = (),
        flags: Sequence[str] = ("--plaintext",),
    ) -> None:
        """`within` is a command that becomes the one behind it."""
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
        """The process that serves, which the one that was started supervises."""
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
        """Whether it was started and not ended since."""
        return self._process is not None

    def kill(self) -> None:
        process = self._running
        # Its worker ends with it, a little later: only then are port and directory free.
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
        """A write is cut short when its process is killed; what the next server writes would follow in the same line."""
        with self.log.open("r+b") as log:
            written = log.read()
            log.truncate(written.rfind(b"\n") + 1)

    def freeze(self) -> None:
        """Stops it where it is: it says nothing more. Only `kill` or `thaw` may follow."""
        process = self._running
        for number in (process.pid, self._worker):
            os.kill(number, signal.SIGSTOP)
        until(self._stands, process, "the server cannot be stopped")

    def thaw(self) -> None:
        """Lets it go on."""
        process = self._running
        for number in (self._worker, process.pid):
            os.kill(number, signal.SIGCONT)

    def _stands(self) -> bool:
        """Whether no thread of it runs or is within a call."""
        assert self._process is not None
        if self._process.poll() is not None:
            raise Broken(f"the server ended with status {self._process.returncode}")
        return _stands(self._process.pid) and _stands(self._worker)

    def stop(self) -> None:
        """Ends it in order, if it runs. Raises Broken when it cannot."""
        if self._process is None:
            return
        process = self._running
        process.send_signal(signal.SIGTERM)
        self._expect(process, 0)

    def abandon(self) -> None:
        """Ends it without looking."""
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
        """Waits until it has no connection, so that nothing comes any more of what killed clients have sent. Raises Broken when it keeps one."""
        until(lambda: self._sockets <= self._listening, self._running, "the server keeps connections of clients that are gone")

    def rest(self, spare: int) -> int:
        """Waits until it has no more descriptors than when it started, but for `spare` ones.

        Returns how many it has more. Raises Broken when it keeps them.
        """
        most = self._resting + spare
        until(lambda: self.descriptors <= most, self._running, f"the idle server keeps more than {most} descriptors open")
        return self.descriptors - self._resting

    @property
    def memory(self) -> int:
        """The most bytes that it ever had in memory."""
        _ = self._running
        status = Path(f"/proc/{self._worker}/status").read_text()
        found = re.search(r"^VmHWM:\s+(\d+) kB$", status, re.MULTILINE)
        return int(found[1]) << 10 if found else 0

    @property
    def unfinished(self) -> list[str]:
        """What it keeps of uploads that did not come to their end."""
        incoming = self.directory / ".transfer" / "incoming"
        return sorted(os.listdir(incoming)) if incoming.exists() else []

    def strange_words(self) -> list[str]:
        """Lines of the log that are not what a server logs: a crash, for one, says its reason there."""
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
    """How one run of a client went."""

    output: bytes
    errors: str
    status: int
    seconds: float
    # Lines that were there when somebody was killed; nothing when nobody was.
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
        """As it could be typed, but for long texts."""
        return shlex.join(word if len(word) <= _SHOWN else f"{word[:_SHOWN]}..." for word in self.command)

    def wait_for(self, seconds: float, lines: int | None) -> bool:
        """Waits until it has said so many lines, or so long. Returns False when it ended before."""
        deadline = self._started + (PATIENCE if lines else seconds)
        while lines is None or self._output.count(b"\n") < lines:
            left = deadline - time.monotonic()
            if left <= 0:
                break
            if not self._read(left):
                return False
        return True

    def said(self) -> bytes:
        """All that it has said by now."""
        before = -1
        while before < len(self._output):
            before = len(self._output)
            self._read(0)
        return self._output

    def mark(self) -> None:
        """Somebody is killed now."""
        self._lines_at_kill = self._output.count(b"\n")

    def kill(self) -> None:
        self._process.kill()

    @property
    def has_ended(self) -> bool:
        """Whether it did by itself."""
        return self._process.poll() is not None

    def stop(self) -> None:
        """Asks it to end."""
        self._process.terminate()

    def freeze(self) -> None:
        """Stops it where it is, unless it has ended: it says and does nothing more. Only `kill` or `thaw` may follow."""
        if self.has_ended:
            return
        self._process.send_signal(signal.SIGSTOP)
        until(lambda: self._process.poll() is not None or _stands(self._process.pid), self._process, "the client cannot be stopped")

    def thaw(self) -> None:
        """Lets it go on."""
        self._process.send_signal(signal.SIGCONT)

    def finish(self) -> Run:
        """Waits for its end. Raises Broken when it doesn't come."""
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
        """Ends it without looking."""
        self._process.kill()
        self._process.wait()
        if self._process.stdout is not None:
            self._process.stdout.close()

    def _read(self, seconds: float) -> bool:
        """Takes what it says within so long. Returns False at the end."""
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
