"""Rounds with a disk that loses writes: faults, then a retry or a restart, and finally a check of the medium."""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from . import content
from .ledger import Ledger, Stored, acknowledgements
from .medium import Medium
from .program import Broken, Client, Refused, Server, free_port
from .sources import Sources
from .tally import Tally

# Number of attempts while the disk fails.
_MOST_ATTEMPTS = 3


@dataclass(frozen=True)
class Fault:
    """One round, decided by its seed alone."""

    kind: str
    # Bytes that fit on the medium before it begins to lose writes.
    room: int
    # For each attempt on the failing disk, the seconds after which the server is killed, or None.
    kills: tuple[float | None, ...]
    # Whether a new server takes the files when the disk has room again.
    restarts: bool
    lanes: int

    @staticmethod
    def make(source: random.Random, kinds: list[str]) -> Fault:
        attempts = source.randint(1, _MOST_ATTEMPTS)
        kills = tuple(source.uniform(0, 0.5) if source.random() < 0.5 else None for _ in range(attempts))
        return Fault(
            source.choice(kinds),
            source.randint(1, 16) * content.MIB,
            kills,
            source.random() < 0.5,
            source.randint(1, 4),
        )


class FaultyRound:
    """A server directory on a failing disk, from its first file to the final check."""

    def __init__(self, transfer: Path, directory: Path, tally: Tally, show: Callable[[str], None]) -> None:
        shutil.rmtree(directory, ignore_errors=True)
        (directory / "source").mkdir(parents=True)
        self.directory = directory
        self._transfer = transfer
        self._tally = tally
        self._show = show
        self._ledger = Ledger()
        self._server: Server | None = None
        self._medium: Medium | None = None
        self._client: Client | None = None

    def close(self) -> None:
        """Ends all processes and unmounts everything. Does not delete the directory."""
        if self._client is not None:
            self._client.abandon()
        if self._server is not None:
            self._server.abandon()
        if self._medium is not None:
            self._medium.abandon()

    def play(self, fault: Fault, source: random.Random) -> None:
        """Plays the round. Raises Broken if a promise is broken, and OSError if mounting is not allowed."""
        self._show(f"# {fault}")
        self._medium = Medium(self.directory, fault.kind)
        self._medium.make(fault.room)
        store = self._medium.directory / "store"
        self._server = Server(self._transfer, store, self.directory / "server.log", free_port(random.Random()))
        sources = Sources(self.directory / "source" / "files", source, huge=False)
        sources.fill(source.randint(1, 3))
        self._server.start()
        for kill in fault.kills:
            if self._server.runs:
                self._push(sources, fault, kill)
        self._medium.mend()
        if fault.restarts and self._server.runs:
            self._restart()
        if not self._server.runs or self._push(sources, fault, None) != 0:
            # A file system that could not write its journal refuses all writes until it is mounted again.
            self._remount()
            if status := self._push(sources, fault, None):
                raise Broken(f"the disk was mended, and the push ended with status {status}")
        self._remount()
        stored = Stored(store).look(afresh=True)
        self._tally.checked += len(stored)
        self._tally.faults[f"{fault.kind}, then a {'restart' if fault.restarts else 'retry'}"] += 1
        if problems := self._ledger.problems(stored):
            raise Broken(f"{len(problems)} broken promises on the medium: " + "; ".join(problems[:5]))

    def _restart(self) -> None:
        assert self._server is not None
        self._show("kill -KILL the server, start it again")
        self._server.kill()
        try:
            self._server.start()
        except Refused:
            # The file system refuses all writes.
            self._server.abandon()

    def _remount(self) -> None:
        assert self._server is not None and self._medium is not None
        self._show("kill -KILL the server, mount the disk anew, start it again")
        self._server.abandon()
        self._medium.remount()
        # After the remount all names come from the medium. The server cannot know that without a new run of the kernel,
        # so the program that remounts the disk also removes the list of doubted directories (docs/design/store.md, When
        # a sync fails).
        for doubted in (self._medium.directory / "store" / ".transfer").glob("unsynced-*"):
            self._show(f"rm {doubted}")
            doubted.unlink()
        self._server.start()

    def _push(self, sources: Sources, fault: Fault, kill: float | None) -> int:
        assert self._server is not None
        for path, file in sources.files.items():
            self._ledger.push(f"files/{path}", file.digest, replaces=False)
        command = [str(self._transfer), "push", "--to", self._server.address, "--plaintext", "--json"]
        command += ["--lanes", str(fault.lanes), "files"]
        client = Client(command, self.directory / "source", None, self.directory / "client.log")
        self._client = client
        self._show(client.shown)
        if kill is not None and client.wait_for(kill, None):
            self._restart()
            if not self._server.runs:
                # No server will answer the client.
                client.kill()
        run = client.finish()
        self._client = None
        self._tally.pushes += 1
        self._show(f"ended with status {run.status} after {run.seconds:.3f} s")
        self._acknowledge(sources, run.output)
        return run.status

    def _acknowledge(self, sources: Sources, output: bytes) -> None:
        for answer in acknowledgements(output):
            if not answer.is_stored or answer.path is None:
                continue
            self._tally.acknowledged += 1
            file = sources.files.get(answer.source.removeprefix("files/"))
            if file is None:
                raise Broken(f"an acknowledgement of what was not pushed: {answer.source!r}")
            self._ledger.acknowledge(answer.path, file.digest, replaces=False)
