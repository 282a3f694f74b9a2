"""Rounds in which the power of the whole machine is cut: what was acknowledged before must be on the medium."""

from __future__ import annotations

import random
import shutil
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from . import features
from .ledger import Stored, acknowledgements
from .pace import Pace
from .plan import Push
from .power import PowerDisk
from .program import Broken, Client, Run, Server, free_port
from .promises import Promises
from .scrub import scrub
from .sources import Sources
from .tally import Tally
from .work import Work

# Options of mount(8), by kind of file system. Some options switch off the help that a file system gives to careless
# programs.
OPTIONS = {
    "ext4": ["", "noauto_da_alloc", "data=writeback,noauto_da_alloc"],
    "xfs": [""],
}

_LEAST_CUTS = 2
_MOST_CUTS = 5

# Percentage of rounds with a file that is sent in parts.
_HUGE = 20

# Exit statuses of a client whose server lost its power: success, or not connected in time. A stream can also fail,
# because the blocks that the server had verified and not yet acknowledged are lost.
_STATUSES = (0, 3)
_STREAM_STATUSES = (0, 1, 3)

# ID of the kernel's run, which changes with a power cut.
_BOOT_ID = "/proc/sys/kernel/random/boot_id"
# A new mount namespace keeps the mounts of all disks, even of disks that other processes unmount later. Therefore the
# process unmounts all loop devices except its own.
_WITH_BOOT_ID = f"""
mount --bind "$0" {_BOOT_ID} || exit
disk=$1
shift
while read -r device place rest; do
    place=$(printf %b "$place")
    case $device in /dev/loop*) [ "$place" = "$disk" ] || [ "$place" = / ] || umount -l "$place" ;; esac
done < /proc/self/mounts 2> /dev/null
exec "$@"
"""


def with_boot_id(file: Path, disk: Path) -> list[str]:
    """A command that runs the command appended to it, with the boot ID from that file. The command uses `disk` and no
    other loop device."""
    return ["unshare", "--mount", "--propagation", "slave", "sh", "-c", _WITH_BOOT_ID, str(file), str(disk)]


@dataclass(frozen=True)
class Moment:
    """The time of a power cut: after a share of the expected time, or when a share of the uploads is acknowledged."""

    share: float
    counts_lines: bool
    # Whether another program syncs a file just before, which commits all names in the file system's journal.
    commits: bool

    @staticmethod
    def make(source: random.Random) -> Moment:
        counts_lines = source.random() < 0.5
        share = source.random() if counts_lines else source.uniform(0, 1.1)
        return Moment(share, counts_lines, source.random() < 0.3)


@dataclass(frozen=True)
class Cuts:
    """One round, decided by its seed alone."""

    number: int
    kind: str
    options: str
    push: Push
    # Whether a file is sent in parts.
    huge: bool
    # Whether an older set was stored before, and the pushed set has newer files.
    follows: bool
    # Power cuts while the set is pushed. One more follows when everything is acknowledged.
    moments: tuple[Moment, ...]
    # For each of these moments, a second cut while the same command is repeated, or None.
    again: tuple[Moment | None, ...]
    # Whether the catalog is verified before the server starts, instead of while it runs.
    scrubs_first: bool
    # Whether the kernel's run has another ID after each cut.
    boots: bool

    @staticmethod
    def make(number: int, source: random.Random, kinds: list[str]) -> Cuts:
        kind = source.choice(kinds)
        moments = [Moment.make(source) for _ in range(source.randint(_LEAST_CUTS, _MOST_CUTS))]
        return Cuts(
            number=number,
            kind=kind,
            options=source.choice(OPTIONS[kind]),
            push=Push.make(number, source, kills=0),
            huge=source.randrange(100) < _HUGE,
            follows=source.random() < 0.4,
            moments=tuple(sorted(moments, key=lambda moment: moment.share)),
            again=tuple(Moment.make(source) if source.random() < 0.4 else None for _ in range(len(moments) + 1)),
            scrubs_first=source.random() < 0.5,
            boots=source.random() < 0.5,
        )


@dataclass(frozen=True)
class Cut:
    """The medium and the promises at the time of a power cut."""

    image: Path
    promises: Promises


class CutRound:
    """A server directory on a disk with power cuts, and what becomes of the directory after each cut."""

    def __init__(self, transfer: Path, directory: Path, plan: Cuts, source: random.Random, show: Callable[[str], None]) -> None:
        shutil.rmtree(directory, ignore_errors=True)
        (directory / "source").mkdir(parents=True)
        self.directory = directory
        self._transfer = transfer
        self._has_receipts = features.Features.of(transfer).receipts
        self._plan = plan
        self._source = source
        self._show = show
        self._tally = Tally()
        self._pace = Pace()
        self._disk = PowerDisk(directory, plan.kind, plan.options)
        self._store = self._disk.directory / "store"
        self._boot_id = directory / "boot_id"
        within = with_boot_id(self._boot_id, self._disk.directory) if plan.boots else []
        self._server = Server(transfer, self._store, directory / "server.log", free_port(random.Random()), within)
        self._client: Client | None = None
        self._runs = 0
        # The image that is being examined.
        self._image: Path | None = None
        show(f"# {plan}")

    @property
    def number(self) -> int:
        return self._plan.number

    def prepare(self) -> None:
        """Makes the disk. Raises OSError if mounting is not allowed."""
        self._disk.make()

    def close(self) -> None:
        """Ends all processes and leaves the directory."""
        if self._client is not None:
            self._client.abandon()
        self._server.abandon()
        self._disk.abandon()

    def keep(self) -> None:
        """Copies the medium with the broken promise into the directory, in its state at the power cut."""
        if self._image is not None:
            self._disk.keep(self._image, self.directory / "image")

    def play(self, tally: Tally, pace: Pace) -> None:
        """Plays the round. Raises Broken if a promise is broken."""
        self._tally = tally
        self._pace = pace
        self._disk.prove()
        self._start()
        sources = Sources(self.directory / "source" / "set", self._source, self._plan.huge)
        promises = Promises()
        if self._plan.follows:
            work = Work.of(self._plan.push, sources)
            self._finish(work, self._begin(work, promises), promises, (0,))
            promises.forget_paths()
            sources.change()
        work = Work.of(self._plan.push, sources)
        cuts = self._push(work, promises)
        self._server.kill()
        for cut, again in zip(cuts, self._plan.again, strict=False):
            self._recover(work, cut, again)
        if words := self._server.strange_words():
            raise Broken(f"the server said: {words[0]}")

    # Cutting

    def _push(self, work: Work, promises: Promises) -> list[Cut]:
        """Runs the command to its end and takes power cuts meanwhile, which the running server does not notice."""
        client = self._begin(work, promises)
        before = promises.copy()
        cuts = []
        for moment in self._plan.moments:
            if not self._comes(client, work, moment):
                break
            cuts.append(self._cut(work, before, client.said(), moment.commits))
        run = self._finish(work, client, promises, (0,))
        self._pace.learn(len(work.wanted), work.bytes, run.seconds)
        cuts.append(self._cut(work, before, run.output, commits=False))
        return cuts

    def _comes(self, client: Client, work: Work, moment: Moment) -> bool:
        """Waits for a moment. Returns False if the client ended before."""
        count = len(work.wanted)
        lines = 1 + int(moment.share * count) if moment.counts_lines else None
        return client.wait_for(moment.share * self._pace.expected(count, work.bytes), lines)

    def _cut(self, work: Work, before: Promises, output: bytes, commits: bool) -> Cut:
        """Takes a power cut. `before` has the promises made before the client ran, and `output` is the client's output
        since."""
        promises = before.copy()
        count = promises.hear(work, output)
        if self._has_receipts:
            promises.keep(self._receipts.read_bytes() if self._receipts.exists() else b"")
        if commits:
            self._disk.commit()
        image = self._disk.cut()
        self._show(f"cut the power when {count} of {len(work.wanted)} were acknowledged, as {image.name}")
        self._tally.cut(self._plan.kind, len(promises.ledger.acknowledged))
        return Cut(image, promises)

    # After a cut

    def _recover(self, work: Work, cut: Cut, again: Moment | None) -> None:
        """Checks what a cut has left, and repeats the command there until everything is acknowledged."""
        self._boot(work, cut)
        promises = cut.promises.copy()
        client = self._begin(work, promises)
        if again is not None and self._comes(client, work, again):
            self._cut_under(client, work, promises, again)
            # The client's output during the cut was sent before the cut, so it counts.
            statuses = _STREAM_STATUSES if self._plan.push.form == "input" else _STATUSES
            if self._finish(work, client, promises, statuses).status != 0:
                self._finish(work, self._begin(work, promises), promises, (0,))
        else:
            self._finish(work, client, promises, (0,))
        end = Cut(self._disk.cut(), promises)
        self._server.kill()
        self._look(work, end)
        scrub(self._transfer, self._store, promises.ledger, is_complete=True)
        self._disk.halt()

    def _cut_under(self, client: Client, work: Work, promises: Promises, moment: Moment) -> None:
        """Cuts the power of the server and restores it, while a client waits for the server."""
        # The server sends nothing after the cut, so everything that the client prints counts.
        self._server.freeze()
        cut = self._cut(work, promises, client.said(), moment.commits)
        self._server.kill()
        self._boot(work, cut)

    def _boot(self, work: Work, cut: Cut) -> None:
        """Restores the power: checks the medium and starts a server there. Raises Broken if a promise is broken."""
        self._look(work, cut)
        # If nothing was ever acknowledged, there need be no catalog.
        scrubs_first = self._plan.scrubs_first and len(cut.promises.ledger.acknowledged) > 0
        if scrubs_first:
            scrub(self._transfer, self._store, cut.promises.ledger, is_complete=False)
        self._start()
        if not scrubs_first:
            scrub(self._transfer, self._store, cut.promises.ledger, is_complete=False)

    def _look(self, work: Work, cut: Cut) -> None:
        """Compares the medium with the promises. Raises Broken if one is broken."""
        if self._image is not None and self._image != cut.image:
            self._disk.drop(self._image)
        self._image = cut.image
        self._disk.boot(cut.image)
        stored = Stored(self._store).look(afresh=True)
        self._tally.checked += len(stored)
        if problems := cut.promises.ledger.problems(stored):
            raise Broken(f"{len(problems)} broken promises after a power cut: " + "; ".join(problems[:5]))
        if cut.promises.receipts:
            receipts = self.directory / "receipts.jsonl"
            receipts.write_bytes(cut.promises.receipts)
            # A replaced file does not match its receipt.
            against = None if work.replaces else self._store
            if problem := features.check_receipts(self._transfer, receipts, against):
                raise Broken(f"after a power cut: {problem}")
            self._tally.receipts += 1

    # Running

    def _start(self) -> None:
        self._boot_id.write_text(f"{uuid.uuid4()}\n")
        self._server.start()

    def _begin(self, work: Work, promises: Promises) -> Client:
        work.announce(promises.ledger)
        self._runs += 1
        self._tally.pushes += 1
        receipts = self._receipts if self._has_receipts else None
        command = work.command(self._transfer, self._server.address, receipts)
        client = Client(command, self.directory / "source", work.stdin, self.directory / "client.log")
        self._client = client
        self._show(f"cd {self.directory / 'source'} && {client.shown}")
        return client

    def _finish(self, work: Work, client: Client, promises: Promises, statuses: tuple[int, ...]) -> Run:
        run = client.finish()
        self._client = None
        self._show(f"ended with status {run.status} after {run.seconds:.3f} s")
        self._tally.acknowledged += promises.hear(work, run.output)
        if run.status not in statuses:
            raise Broken(f"the client ended with status {run.status}: {run.errors[-500:]}")
        if run.status == 0:
            work.require_all(acknowledgements(run.output))
        if self._has_receipts:
            promises.keep(self._receipts.read_bytes() if self._receipts.exists() else b"")
            self._tally.receipts += 1
        return run

    @property
    def _receipts(self) -> Path:
        return self.directory / f"receipts-{self._runs}.jsonl"
