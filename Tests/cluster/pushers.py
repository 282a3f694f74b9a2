"""The clients of a tortured cluster: what they send and change, and what the servers answer."""

from __future__ import annotations

import random
import shutil
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

from torture import content
from torture.ledger import Stored, acknowledgements
from torture.program import Broken, Client, Run
from torture.sources import File, Sources

from .custody import Custody
from .plan import Job

# Exit statuses of a client beside faults: success, failed for now, never connected, killed.
_STATUSES = (0, 1, 3, -9)

# Results that tell that an upload may succeed later, or that the server has no room now.
_TEMPORARY = frozenset(
    {"insufficientStorage", "storageFailed", "busy", "shuttingDown", "timedOut", "connectionLost", "cancelled", "incomplete"}
)

# How long a client tries again beside faults.
_RETRY = "25s"


class Batch:
    """Files in a directory that one client pushes."""

    def __init__(self, sources: Sources, replaces: bool = False) -> None:
        self.sources = sources
        # Whether the last push may have replaced files: their former state by path.
        self.former: dict[str, File] = {}
        self.replaces = replaces
        # Whether the last push was acknowledged as a whole.
        self.is_settled = False

    @property
    def top(self) -> str:
        return self.sources.directory.name


class Pusher:
    """One client. A thread calls `work`, and after its end another one calls `finish`."""

    def __init__(
        self,
        transfer: Path,
        directory: Path,
        folder: str,
        custody: Custody,
        address: Callable[[int | None], str],
        show: Callable[[str], None],
    ) -> None:
        """`folder` is the folder on the server; `address` gives that of a server, or with None that of the balancer."""
        self.counts: Counter[str] = Counter()
        self.problem: BaseException | None = None
        self._transfer = transfer
        self._directory = directory
        self._folder = folder
        self._custody = custody
        self._address = address
        self._show = show
        self._batches: list[Batch] = []
        self._client: Client | None = None
        self._made = 0
        (directory / "home").mkdir(parents=True)

    def work(self, jobs: Sequence[Job]) -> None:
        """Does the jobs one after the other. Keeps the first problem."""
        try:
            for job in jobs:
                self._do(job)
        except BaseException as problem:
            self.problem = problem

    def finish(self, source: random.Random, nodes: int) -> None:
        """Repeats what was not acknowledged, when there are no more faults. Raises Broken if that fails."""
        for batch in self._batches:
            if not batch.is_settled:
                self._push(batch, Job("again", source.randrange(nodes), (), None, 0), is_last=True)

    def end(self) -> None:
        """Kills a client that is still at work."""
        if self._client is not None:
            self._client.abandon()

    # Jobs

    def _do(self, job: Job) -> None:
        source = random.Random(job.seed)
        batch = source.choice(self._batches) if self._batches else None
        if job.kind in ("files", "long") or batch is None:
            self._push(self._make(job, source), job)
        elif job.kind == "again" or not batch.is_settled:
            self._push(batch, job)
        elif job.kind == "overwrite":
            batch.former = dict(batch.sources.files)
            batch.sources.change()
            batch.replaces = True
            self._push(batch, job)
        elif job.kind == "pull":
            self._pull(batch, job)
        elif job.kind == "move folder":
            self._move_folder(batch, job)
        else:
            self._change(batch, job, source)

    def _make(self, job: Job, source: random.Random) -> Batch:
        self._made += 1
        sources = Sources(self._directory / f"{self._directory.name}-{self._made}", source, huge=False)
        if job.kind == "long":
            sources.lengthen(source.randint(content.PARTS, content.PARTS * 5 // 4))
        batch = Batch(sources)
        self._batches.append(batch)
        return batch

    def _push(self, batch: Batch, job: Job, is_last: bool = False) -> None:
        batch.is_settled = False
        self._announce(batch)
        flags = ["--on-conflict", "overwrite"] if batch.replaces else []
        words = ["push", "--json", *flags, *job.flags, *([] if is_last else ["--retry-for", _RETRY]), batch.top]
        run = self._run(job, *words, "--to", f"{self._address(job.target)}/{self._folder}")
        told = self._hear(batch, run)
        if run.status == 0 or is_last:
            if run.status != 0:
                raise Broken(f"without any fault a push ended with status {run.status}: {run.errors[-1000:]}")
            if lacking := set(batch.sources.files) - told:
                raise Broken(f"no acknowledgement of {sorted(lacking)[:3]} though the push ended well")
            batch.is_settled = True
            batch.former = {}

    def _announce(self, batch: Batch) -> None:
        for path, file in batch.sources.files.items():
            former = batch.former.get(path)
            if former is not None and former != file:
                self._custody.replace(self._stored(batch, path), former)
            self._custody.send(self._stored(batch, path), file)

    def _hear(self, batch: Batch, run: Run) -> set[str]:
        """Takes the output of a push. Returns the paths that are acknowledged."""
        told = set()
        for answer in acknowledgements(run.output):
            path = answer.source.removeprefix(f"{batch.top}/")
            self.counts[answer.result] += 1
            if not answer.is_stored:
                if answer.result not in _TEMPORARY:
                    raise Broken(f"beside faults {answer.source!r} was {answer.result}: {run.errors[-500:]}")
                continue
            wanted, file = self._stored(batch, path), batch.sources.files[path]
            if answer.path != wanted:
                raise Broken(f"{wanted!r} was acknowledged as {answer.path!r}")
            self._custody.acknowledge(wanted, file)
            former = batch.former.get(path)
            if former is not None and former != file:
                self._custody.removed(wanted, former)
            told.add(path)
        return told

    def _stored(self, batch: Batch, path: str) -> str:
        return f"{self._folder}/{batch.top}/{path}"

    def _change(self, batch: Batch, job: Job, source: random.Random) -> None:
        """Moves or removes one file."""
        path = source.choice(sorted(batch.sources.files))
        file, stored = batch.sources.files[path], self._stored(batch, path)
        if job.kind == "move":
            self._made += 1
            target = f"{self._folder}/moved by {self._directory.name} {self._made}"
            self._custody.move(stored, file, target)
            if self._run(job, "move", stored, target, "--from", self._address(job.target)).status == 0:
                self._custody.moved(stored, file, target)
        else:
            self._custody.replace(stored, file)
            if self._run(job, "remove", stored, "--from", self._address(job.target)).status == 0:
                self._custody.removed(stored, file)
        # Another push of this batch must not send the file again.
        batch.sources.forget(path)
        if not batch.sources.files:
            self._batches.remove(batch)

    def _move_folder(self, batch: Batch, job: Job) -> None:
        self._made += 1
        target = f"{self._folder}/{batch.top} moved {self._made}"
        files = [(self._stored(batch, path), file, f"{target}/{path}") for path, file in batch.sources.files.items()]
        for path, file, other in files:
            self._custody.move(path, file, other)
        if self._run(job, "move", f"{self._folder}/{batch.top}", target, "--from", self._address(job.target)).status == 0:
            for path, file, other in files:
                self._custody.moved(path, file, other)
        self._batches.remove(batch)

    def _pull(self, batch: Batch, job: Job) -> None:
        self._made += 1
        place = self._directory / f"pulled-{self._made}"
        stored = f"{self._folder}/{batch.top}"
        run = self._run(job, "pull", stored, "--from", self._address(job.target), "--retry-for", _RETRY, "-o", f"{place}/")
        found = Stored(place / batch.top, ".transfer-parts").look() if place.exists() else {}
        for path, digest in found.items():
            file = batch.sources.files.get(path)
            if file is not None and file.digest != digest:
                raise Broken(f"{stored}/{path} was pulled with other content")
        if run.status == 0 and (lacking := set(batch.sources.files) - set(found)):
            raise Broken(f"{sorted(lacking)[:3]} of {stored} were not pulled though the pull ended well")
        self.counts["pulled"] += len(found)
        shutil.rmtree(place, ignore_errors=True)

    def _run(self, job: Job, *words: str) -> Run:
        command = ["env", f"HOME={self._directory / 'home'}", str(self._transfer), *words, "--trust-new"]
        client = Client(command, self._directory, None, self._directory / "client.log")
        self._client = client
        self._show(f"cd {self._directory} && {client.shown}")
        if job.killed is not None and client.wait_for(job.killed, None):
            client.kill()
            self.counts["clients killed"] += 1
        run = client.finish()
        self._client = None
        self._show(f"{self._directory.name} ended with status {run.status} after {run.seconds:.3f} s {run.errors[-300:].strip()}")
        self.counts[f"status {run.status}"] += 1
        if run.status not in _STATUSES:
            raise Broken(f"a client ended with status {run.status}: {run.errors[-1000:]}")
        return run
