"""The real server in a directory of its own, and the other commands of the program beside it."""

from __future__ import annotations

import atexit
import os
import re
import signal
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

import children

from .log import Log
from .wires.connection import PATIENCE

_PROJECT = Path(__file__).resolve().parents[2]
# Where `transfer` keeps what is this user's.
_OWN = ("HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME", "XDG_RUNTIME_DIR")


children.have_default_signals()


def binary() -> Path:
    """What TRANSFER_BINARY names, or the debug build."""
    return Path(os.environ.get("TRANSFER_BINARY") or _PROJECT / ".build/debug/transfer").resolve()


def _environment(home: Path) -> dict[str, str]:
    """Nothing of the user's own is read or written, and none of his settings counts."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("TRANSFER_", "XDG_"))}
    return kept | {name: str(home / name.lower()) for name in _OWN} | {"TMPDIR": str(home)}


def _classic(choice: str) -> str:
    """`sized,total=content` with an address on which the system chooses the port."""
    framing, comma, options = choice.partition(",")
    return f"{framing}=127.0.0.1:0{comma}{options}"


class Server:
    """Started once, with the classic framings that are asked for."""

    def __init__(self, classic: Sequence[str], options: Sequence[str] = ()) -> None:
        self._home = tempfile.TemporaryDirectory(prefix="transfer-dialects-")
        self.path = Path(self._home.name)
        self.directory = self.path / "store"
        self._environment = _environment(self.path)
        for name in _OWN:
            Path(self._environment[name]).mkdir(mode=0o700)
        self.arguments = ["serve", "--dir", str(self.directory), "--listen", "127.0.0.1:0", "--log-format", "json"]
        for choice in classic:
            self.arguments += ["--classic", _classic(choice)]
        self.arguments += options
        self._process: subprocess.Popen[bytes] | None = None
        self.log: Log

    def start(self) -> None:
        """Raises Silent when it doesn't listen everywhere."""
        atexit.register(self.abandon)
        # Who is told to end takes the server along, as with an interruption.
        signal.signal(signal.SIGTERM, signal.default_int_handler)
        # A session of its own, so that both of its processes can be ended together.
        self._process = subprocess.Popen(
            [str(binary()), *self.arguments],
            env=self._environment,
            cwd=self.path,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        assert self._process.stderr is not None
        self.log = Log(self._process.stderr)
        self.log.until(self._listens, "the server does not listen")

    def _listens(self) -> bool:
        wanted = self.arguments.count("--classic")
        return bool(self.log.events("listening")) and len(self.log.events("listeningClassic")) == wanted

    @property
    def address(self) -> str:
        """Where its own protocol is spoken."""
        return str(self.log.events("listening")[0]["address"])

    def port(self, framing: str) -> int:
        found = (event for event in self.log.events("listeningClassic") if event["framing"] == framing)
        return int(str(next(found)["address"]).rpartition(":")[2])

    def transfer(self, *arguments: str, directory: Path | None = None) -> subprocess.CompletedProcess[bytes]:
        """Another command of the program, as the same user."""
        command = [str(binary()), *arguments]
        process = subprocess.Popen(
            command,
            env=self._environment,
            cwd=directory or self.path,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        return children.finish(process, 4 * PATIENCE)

    def peak(self) -> int:
        """The most bytes that the serving process ever had in memory."""
        found = re.search(r"^VmHWM:\s+(\d+) kB$", Path(f"/proc/{self.worker}/status").read_text(), re.MULTILINE)
        return int(found[1]) << 10 if found else 0

    @property
    def worker(self) -> int:
        """The process that serves, which the one that was started supervises."""
        assert self._process is not None
        supervisor = self._process.pid
        return int(Path(f"/proc/{supervisor}/task/{supervisor}/children").read_text().split()[0])

    def stop(self) -> int:
        """Ends it in order. Returns how it has ended."""
        self.ask_to_stop()
        return self.wait()

    def ask_to_stop(self) -> None:
        """Running uploads may end."""
        assert self._process is not None
        self._process.send_signal(signal.SIGTERM)

    def wait(self) -> int:
        """Waits for one that ends by itself. Returns how it has ended."""
        assert self._process is not None
        try:
            status = self._process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            present = children.describe(self._process.pid)
            raise AssertionError(f"the server did not end\n{present}\n{self.log.tail()}") from None
        self.log.finish()
        return status

    def kill(self) -> None:
        """Ends it without a warning; `start` begins anew in the same directory."""
        assert self._process is not None
        os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        self.log.finish()
        self._process = None

    @property
    def unfinished(self) -> list[str]:
        """What it keeps of uploads that did not come to their end."""
        incoming = self.directory / ".transfer/incoming"
        return sorted(os.listdir(incoming)) if incoming.exists() else []

    @property
    def crashes(self) -> list[str]:
        reports = self.directory / ".transfer/crashes"
        return sorted(os.listdir(reports)) if reports.exists() else []

    def abandon(self) -> None:
        """Ends all of it, however it is, and leaves nothing behind."""
        atexit.unregister(self.abandon)
        if self._process is not None:
            try:
                os.killpg(self._process.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            self._process.wait()
            self.log.finish()
            self._process = None
        self._home.cleanup()
