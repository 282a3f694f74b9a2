"""The real server in its own directory, and the other commands of the program."""

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
# Variables that name the folders in which `transfer` keeps a user's files.
_OWN = ("HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME", "XDG_RUNTIME_DIR")


children.have_default_signals()


def binary() -> Path:
    """The program that TRANSFER_BINARY names, or the debug build."""
    return Path(os.environ.get("TRANSFER_BINARY") or _PROJECT / ".build/debug/transfer").resolve()


def _environment(home: Path) -> dict[str, str]:
    """An environment without the user's settings, which keeps the program away from the user's files."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("TRANSFER_", "XDG_"))}
    return kept | {name: str(home / name.lower()) for name in _OWN} | {"TMPDIR": str(home)}


def _classic(choice: str) -> str:
    """`sized,total=content` with an address on which the system chooses the port."""
    framing, comma, options = choice.partition(",")
    return f"{framing}=127.0.0.1:0{comma}{options}"


class Server:
    """A server with the given classic framings."""

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
        """Starts the server. Raises Silent if it does not listen on all its addresses."""
        atexit.register(self.abandon)
        # A SIGTERM to the tests also ends the server, like a keyboard interrupt.
        signal.signal(signal.SIGTERM, signal.default_int_handler)
        # A separate session, so that both processes of the server can be killed together.
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
        """The address for the server's own protocol."""
        return str(self.log.events("listening")[0]["address"])

    def port(self, framing: str) -> int:
        found = (event for event in self.log.events("listeningClassic") if event["framing"] == framing)
        return int(str(next(found)["address"]).rpartition(":")[2])

    def transfer(self, *arguments: str, directory: Path | None = None) -> subprocess.CompletedProcess[bytes]:
        """Runs another command of the program, as the same user."""
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
        """The peak memory use of the serving process in bytes."""
        found = re.search(r"^VmHWM:\s+(\d+) kB$", Path(f"/proc/{self.worker}/status").read_text(), re.MULTILINE)
        return int(found[1]) << 10 if found else 0

    @property
    def worker(self) -> int:
        """The worker, which the started process supervises."""
        assert self._process is not None
        supervisor = self._process.pid
        return int(Path(f"/proc/{supervisor}/task/{supervisor}/children").read_text().split()[0])

    def stop(self) -> int:
        """Ends the server in order. Returns its exit status."""
        self.ask_to_stop()
        return self.wait()

    def ask_to_stop(self) -> None:
        """Asks the server to stop. Running uploads may complete."""
        assert self._process is not None
        self._process.send_signal(signal.SIGTERM)

    def wait(self) -> int:
        """Waits until the server ends by itself. Returns its exit status."""
        assert self._process is not None
        try:
            status = self._process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            present = children.describe(self._process.pid)
            raise AssertionError(f"the server did not end\n{present}\n{self.log.tail()}") from None
        self.log.finish()
        return status

    def kill(self) -> None:
        """Kills the server; `start` starts another one in the same directory."""
        assert self._process is not None
        os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        self.log.finish()
        self._process = None

    @property
    def unfinished(self) -> list[str]:
        """The files that the server keeps for unfinished uploads."""
        incoming = self.directory / ".transfer/incoming"
        return sorted(os.listdir(incoming)) if incoming.exists() else []

    @property
    def crashes(self) -> list[str]:
        reports = self.directory / ".transfer/crashes"
        return sorted(os.listdir(reports)) if reports.exists() else []

    def abandon(self) -> None:
        """Kills all processes of the server, whatever their state, and removes its directory."""
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
