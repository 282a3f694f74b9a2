"""Rounds that share one server directory."""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from . import content, features
from .ledger import Ledger, Stored, acknowledgements
from .pace import Pace
from .plan import Kill, Plan, Push, Victim
from .program import Broken, Client, Run, Server, free_port
from .sources import Sources
from .tally import Tally

# Bytes that a server may have in memory. Its buffers are bounded; what the bound is depends on its threads.
_MOST_MEMORY = 128 * content.MIB

# Descriptors that an idle server may have opened for good since it started.
_SPARE_DESCRIPTORS = 8

# What a client may end with when the server was killed: nothing lost, or never connected.
_STATUSES = (0, 3)


@dataclass(frozen=True)
class Work:
    """One push as a command: its arguments, its input, and what it is to store where."""

    arguments: list[str]
    stdin: bytes | None
    # The digest of the content, by the name that the client gives the upload.
    wanted: dict[str, tuple[str, str]]
    bytes: int
    long_count: int


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
        # Uploads that may have left something behind that nobody has asked for again.
        self._interrupted = 0
        self._runs = 0
        self._client: Client | None = None

    def close(self) -> None:
        """Ends everything and leaves the directory."""
        if self._client is not None:
            self._client.abandon()
        self._server.abandon()

    def play(self, number: int, plan: Plan, source: random.Random) -> None:
        """One round. Raises Broken."""
        if not self._server.starts:
            self._server.start()
        for push in plan.pushes:
            self._play(number, push, source)
        self._check(afresh=False)
        self._tally.rounds += 1

    def end(self) -> None:
        """After the last round: everything is read once more. Raises Broken."""
        self._check(afresh=True)
        self._server.stop()
        if words := self._server.strange_words():
            raise Broken(f"the server said: {words[0]}")

    def _play(self, number: int, push: Push, source: random.Random) -> None:
        sources = Sources(self.directory / "source" / f"r{number}", source)
        for kill in push.kills:
            work = self._work(push, sources)
            if not self._disturbed(push, work, kill):
                break
            if kill.changes:
                sources.change()
        work = self._work(push, sources)
        self._undisturbed(push, work)
        shutil.rmtree(sources.directory)

    # Running

    def _disturbed(self, push: Push, work: Work, kill: Kill) -> bool:
        """Runs the command and kills somebody. Returns False when it was over before that."""
        client = self._begin(push, work)
        expected = self._pace.expected(len(work.wanted), work.bytes)
        lines = 1 + int(kill.share * len(work.wanted)) if kill.counts_lines else None
        if not client.wait_for(kill.share * expected, lines):
            self._finish(push, work, client, (0,))
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
        run = self._finish(push, work, client, _STATUSES if kill.victim is Victim.SERVER else (0, -9))
        self._tally.killed(kill.victim.value, run.lines_at_kill or 0, len(work.wanted))
        return True

    def _undisturbed(self, push: Push, work: Work) -> None:
        """Runs the command to its end and compares what it was to do with what is there."""
        run = self._finish(push, work, self._begin(push, work), (0,))
        self._pace.learn(len(work.wanted), work.bytes, run.seconds)
        found = {answer.source: answer for answer in acknowledgements(run.output)}
        for name, (path, _) in work.wanted.items():
            if name not in found:
                raise Broken(f"no acknowledgement of {path!r} though the push ended well")
            if not found[name].is_stored:
                raise Broken(f"{found[name].result} of {path!r} though the push ended well")

    def _begin(self, push: Push, work: Work) -> Client:
        for path, digest in work.wanted.values():
            self._ledger.push(path, digest, "overwrite" in push.flags)
        self._runs += 1
        self._tally.pushes += 1
        to = f"{self._server.address}/{push.folder}"
        command = [str(self._transfer), "push", "--to", to, "--plaintext", "--json", *push.flags]
        if self._features.receipts:
            command += ["--receipts", str(self._receipts)]
        command += work.arguments
        client = Client(command, self.directory / "source", work.stdin, self.directory / "client.log")
        self._client = client
        self._show(f"cd {self.directory / 'source'} && {client.shown}")
        return client

    def _finish(self, push: Push, work: Work, client: Client, statuses: tuple[int, ...]) -> Run:
        run = client.finish()
        self._client = None
        self._show(f"ended with status {run.status} after {run.seconds:.3f} s")
        for answer in acknowledgements(run.output):
            if answer.is_stored:
                self._acknowledge(push, work, answer.source, answer.path)
        if run.status not in statuses:
            raise Broken(f"the client ended with status {run.status}: {run.errors[-500:]}")
        if self._features.receipts:
            if problem := features.check_receipts(self._transfer, self._receipts):
                raise Broken(problem)
            self._tally.receipts += 1
        return run

    def _acknowledge(self, push: Push, work: Work, name: str, path: str | None) -> None:
        self._tally.acknowledged += 1
        if name not in work.wanted or path is None:
            raise Broken(f"an acknowledgement of what was not pushed: {name!r} as {path!r}")
        wanted, digest = work.wanted[name]
        if path != wanted and wanted not in self._ledger.bases(path):
            raise Broken(f"{wanted!r} was acknowledged as {path!r}")
        self._ledger.acknowledge(path, digest, "overwrite" in push.flags)

    @property
    def _receipts(self) -> Path:
        return self.directory / f"receipts-{self._runs}.jsonl"

    # Looking

    def _check(self, afresh: bool) -> None:
        """Looks at everything when nobody is at work. Raises Broken."""
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

    # Commands

    def _work(self, push: Push, sources: Sources) -> Work:
        if push.form in ("text", "input"):
            return _single(push, sources)
        top = sources.directory.name
        place = "" if push.form == "files" else f"{top}/"
        wanted = {}
        for path, file in sources.files.items():
            wanted[f"{top}/{path}"] = (f"{push.folder}/{place}{path}", file.digest)
        operands = [top]
        if push.form == "files":
            operands = sorted({f"{top}/{path.partition('/')[0]}" for path in sources.files})
        return Work(operands, None, wanted, sources.bytes, sources.long_count)


def _single(push: Push, sources: Sources) -> Work:
    """The longest file of the set as a text or over standard input."""
    path = max(sources.files, key=lambda path: sources.files[path].size)
    data = (sources.directory / path).read_bytes()
    name = path.rpartition("/")[2]
    if push.form == "text":
        # As an argument: without NUL, and short.
        data = data.hex().encode()[: 8 * content.KIB] or b"nothing"
        arguments = ["--text", data.decode(), "--name", name]
    else:
        arguments = ["-", "--name", name]
    wanted = {name: (f"{push.folder}/{name}", content.digest(data))}
    stdin = data if push.form == "input" else None
    # What is sent without a size is received under a name of its own.
    return Work(arguments, stdin, wanted, len(data), 1)
