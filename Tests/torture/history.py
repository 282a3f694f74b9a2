"""Rounds that share one server directory."""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable
from pathlib import Path

from . import content, features
from .ledger import Ledger, Stored, acknowledgements
from .pace import Pace
from .plan import Kill, Plan, Push, Victim
from .program import Broken, Client, Run, Server, free_port
from .sources import Sources
from .tally import Tally
from .work import Work

# Bytes of memory that a server may use. Its buffers are bounded, and the bound depends on its number of threads.
_MOST_MEMORY = 128 * content.MIB

# Descriptors that an idle server may have opened for good since it started.
_SPARE_DESCRIPTORS = 8

# Exit statuses of a client whose server was killed: success, or never connected.
_STATUSES = (0, 3)


class History:
    """A server directory and everything that was ever done to it."""

    def __init__(self, transfer: Path, directory: Path, tally: Tally, pace: Pace, show: Callable[[str], None]) -> None:
        shutil.rmtree(directory, ignore_errors=True)
        (directory / "source").mkdir(parents=True)
        self.directory = directory
        self._transfer = transfer
        self._features = features.Features.of(transfer)
        self._tally = tally
        self._pace = pace
        self._show = show
        self._ledger = Ledger()
        self._stored = Stored(directory / "store")
        self._server = Server(transfer, directory / "store", directory / "server.log", free_port(random.Random()))
        # Number of uploads that may have left files behind and were not repeated.
        self._interrupted = 0
        self._runs = 0
        self._client: Client | None = None

    def close(self) -> None:
        """Ends all processes and leaves the directory."""
        if self._client is not None:
            self._client.abandon()
        self._server.abandon()

    def play(self, number: int, plan: Plan, source: random.Random) -> None:
        """Plays one round. Raises Broken if a promise is broken."""
        if not self._server.starts:
            self._server.start()
        for push in plan.pushes:
            self._play(number, push, source)
        self._check(afresh=False)
        self._tally.rounds += 1

    def end(self) -> None:
        """After the last round, reads everything once more. Raises Broken if a promise is broken."""
        self._check(afresh=True)
        self._server.stop()
        if words := self._server.strange_words():
            raise Broken(f"the server said: {words[0]}")

    def _play(self, number: int, push: Push, source: random.Random) -> None:
        sources = Sources(self.directory / "source" / f"r{number}", source)
        for kill in push.kills:
            work = Work.of(push, sources)
            if not self._disturbed(work, kill):
                break
            if kill.changes:
                sources.change()
        work = Work.of(push, sources)
        self._undisturbed(work)
        shutil.rmtree(sources.directory)

    # Running

    def _disturbed(self, work: Work, kill: Kill) -> bool:
        """Runs the command and kills the victim. Returns False if the command ended before that."""
        client = self._begin(work)
        expected = self._pace.expected(len(work.wanted), work.bytes)
        lines = 1 + int(kill.share * len(work.wanted)) if kill.counts_lines else None
        if not client.wait_for(kill.share * expected, lines):
            self._finish(work, client, (0,))
            return False
        client.mark()
        self._interrupted += work.long_count
        if kill.victim is not Victim.SERVER:
            self._show("kill -KILL the client")
            client.kill()
        if kill.victim is not Victim.CLIENT:
            self._show("kill -KILL the server, start it again")
            self._server.kill()
            self._server.start()
        run = self._finish(work, client, _STATUSES if kill.victim is Victim.SERVER else (0, -9))
        self._tally.killed(kill.victim.value, run.lines_at_kill or 0, len(work.wanted))
        return True

    def _undisturbed(self, work: Work) -> None:
        """Runs the command to its end and compares the result with the files in place."""
        run = self._finish(work, self._begin(work), (0,))
        self._pace.learn(len(work.wanted), work.bytes, run.seconds)
        work.require_all(acknowledgements(run.output))
        if work.push.form in ("directory", "files"):
            self._again(work)

    def _again(self, work: Work) -> None:
        """Runs the command once more, as users do: the server stores nothing, and the client reports every file."""
        self._tally.pushes += 1
        command = work.again(self._transfer, self._server.address)
        self._client = Client(command, self.directory / "source", None, self.directory / "client.log")
        self._show(f"cd {self.directory / 'source'} && {self._client.shown}")
        run = self._client.finish()
        self._client = None
        if run.status != 0:
            raise Broken(f"the client ended with status {run.status}: {run.errors[-500:]}")
        self._tally.folders += work.require_told(run.output)

    def _begin(self, work: Work) -> Client:
        work.announce(self._ledger)
        self._runs += 1
        self._tally.pushes += 1
        receipts = self._receipts if self._features.receipts else None
        command = work.command(self._transfer, self._server.address, receipts)
        client = Client(command, self.directory / "source", work.stdin, self.directory / "client.log")
        self._client = client
        self._show(f"cd {self.directory / 'source'} && {client.shown}")
        return client

    def _finish(self, work: Work, client: Client, statuses: tuple[int, ...]) -> Run:
        run = client.finish()
        self._client = None
        self._show(f"ended with status {run.status} after {run.seconds:.3f} s")
        for answer in acknowledgements(run.output):
            if answer.is_stored:
                self._tally.acknowledged += 1
                work.take(self._ledger, answer)
        if run.status not in statuses:
            raise Broken(f"the client ended with status {run.status}: {run.errors[-500:]}")
        if self._features.receipts:
            if problem := features.check_receipts(self._transfer, self._receipts):
                raise Broken(problem)
            self._tally.receipts += 1
        return run

    @property
    def _receipts(self) -> Path:
        return self.directory / f"receipts-{self._runs}.jsonl"

    # Looking

    def _check(self, afresh: bool) -> None:
        """Checks everything while no client is at work. Raises Broken if a promise is broken."""
        self._tally.descriptors = max(self._tally.descriptors, self._server.rest(_SPARE_DESCRIPTORS))
        self._tally.memory = max(self._tally.memory, self._server.memory)
        if self._server.memory > _MOST_MEMORY:
            raise Broken(f"the server takes {self._server.memory >> 20} MiB of memory")
        if len(self._server.unfinished) > self._interrupted:
            raise Broken(f"{self._interrupted} uploads were interrupted and left {self._server.unfinished}")
        stored = self._stored.look(afresh)
        self._tally.checked += len(stored)
        if problems := self._ledger.problems(stored):
            raise Broken(f"{len(problems)} broken promises: " + "; ".join(problems[:5]))
