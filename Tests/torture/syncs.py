"""Syncs of trees while client and server are killed at any moment, each followed by the same command, which completes
it.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path

from . import content, looks
from .looks import Backup, Look, Trash, Tree
from .pace import Pace
from .people import at_home
from .plan import Kill, Victim
from .program import Broken, Client, Run, Server, free_port
from .tally import Tally
from .trees import Grove

# The same limits for a server as in history.py.
_MOST_MEMORY = 128 * content.MIB
_SPARE_DESCRIPTORS = 8

# Exit statuses of a client whose server was killed: success, or never connected.
_STATUSES = (0, 3)

# Folders of the program in a directory that is the target of a sync.
_RESERVED = (".transfer", ".transfer-parts")

# The folder of the target that receives replaced and removed files, in some rounds.
_BACKUP = "kept"

# Number of entries to restore from the trash at once.
_RESTORED = 2


@dataclass(frozen=True)
class SyncStep:
    """One command, repeated until no process is killed."""

    # Whether the server's folder is the target; otherwise the target is a local directory.
    pushes: bool
    # Number of changes to the source before the command.
    changes: int
    kills: tuple[Kill, ...]
    # Whether entries are restored from the trash afterwards.
    restores: bool

    @staticmethod
    def make(source: random.Random, pushes: bool, changes: int) -> SyncStep:
        kills = tuple(Kill.make(source) for _ in range(source.choice([0, 1, 1, 2, 3])))
        return SyncStep(pushes, changes, kills, restores=source.random() < 0.4)


@dataclass(frozen=True)
class SyncRoundPlan:
    """One round, decided by its seed alone."""

    flags: tuple[str, ...]
    steps: tuple[SyncStep, ...]
    # Whether removed files go to a folder of the target instead of a trash.
    backs_up: bool

    @staticmethod
    def make(source: random.Random) -> SyncRoundPlan:
        flags = ["--lanes", source.choice(["auto", "1", "2", "4"])]
        if source.random() < 0.2:
            flags += ["--compress", source.choice(["zlib", "zstd", "none"])]
        if source.random() < 0.1:
            flags += ["--digest", "sha256"]
        if source.random() < 0.15:
            flags.append("--checksum")
        steps = [SyncStep.make(source, pushes=True, changes=0)]
        for _ in range(source.randint(1, 4)):
            if source.random() < 0.3:
                steps.append(SyncStep.make(source, pushes=False, changes=0))
            else:
                steps.append(SyncStep.make(source, pushes=True, changes=source.choice([0, 1, 2, 5, 10, 20])))
        return SyncRoundPlan(tuple(flags), tuple(steps), backs_up=source.random() < 0.3)


class Side:
    """The source and the target of a sync, and the last state that was seen of both."""

    def __init__(self, source: Tree, target: Tree, trash: Trash) -> None:
        self.source, self.target = source, target
        self._trash = trash
        self.wanted: Look = {}
        self.before: Look = {}
        # Entries that must be in the trash.
        self._owed: set[tuple[str, tuple[str, str]]] = set()

    def begin(self) -> None:
        """Records the state of the source, which does not change from now on."""
        self.wanted = self.source.look()

    @property
    def differing(self) -> list[str]:
        """The paths that the sync has to change, approximately."""
        return [path for path in {*self.wanted, *self.before} if self.wanted.get(path) != self.before.get(path)]

    @property
    def differing_bytes(self) -> int:
        return sum(self.wanted[path].size for path in self.differing if path in self.wanted)

    def look(self) -> set[str]:
        """Examines the target while no process changes it. Returns the files that have gone since the last look. Raises
        Broken if a promise is broken."""
        now = self.target.look()
        problems = looks.torn(self.before, now, self.wanted)
        self._owed.update(looks.removed(self.before, now, self.wanted))
        if isinstance(self._trash, Backup):
            self._owed.update(looks.replaced(self.before, now))
        trash = self._trash.look()
        problems += [f"gone, and kept nowhere: {path!r}" for path, key in sorted(self._owed) if not trash[path, key]]
        gone = looks.files(self.before) - looks.files(now)
        self.before = now
        if problems:
            raise Broken(f"{len(problems)} broken promises: " + "; ".join(problems[:5]))
        return gone

    def require_same(self) -> None:
        """Raises Broken unless both trees are equal."""
        if problems := looks.differences(self.wanted, self.before):
            raise Broken(f"the trees differ in {len(problems)} ways: " + "; ".join(problems[:5]))

    def restorable(self) -> list[str]:
        """Files and links in the trash whose paths are free."""
        found = {path for path, _ in self._trash.look()}
        return sorted(path for path in found - self._trash.folders if self._is_free(path))

    def _is_free(self, path: str) -> bool:
        parents = [path[:at] for at, byte in enumerate(path) if byte == "/"]
        return path not in self.before and all(
            parent not in self.before or self.before[parent].kind == looks.FOLDER for parent in parents
        )

    def restore(self, path: str, run: Callable[[], None]) -> None:
        """Restores an entry with `run`. Raises Broken unless exactly that entry is restored."""
        trash = self._trash.look()
        run()
        now, left = self.target.look(), self._trash.look()
        entry = now.get(path)
        if entry is None or trash - left != {(path, entry.key): 1}:
            raise Broken(f"restored, and not what was in the trash: {path!r} is {entry}")
        if lost := [other for other in self.before if other not in now or now[other].key != self.before[other].key]:
            raise Broken(f"{path!r} was restored, and {lost[0]!r} is not what it was")
        if not left[path, entry.key]:
            self._owed.discard((path, entry.key))
        self.before = now


def catalog_problems(output: bytes, unknown: Collection[str]) -> list[str]:
    """The broken promises in the output of `transfer verify`. Files may be missing if the server was killed before it
    recorded their removal."""
    said = [json.loads(line) for line in output.splitlines()]
    return [
        f"{finding['finding']} {finding['path']!r}"
        for finding in said
        if finding["finding"] in ("rotten", "unreadable")
        or (finding["finding"] == "missing" and finding["path"] not in unknown)
    ]


class Syncs:
    """A server directory, and the rounds that share it."""

    def __init__(self, transfer: Path, directory: Path, tally: Tally, pace: Pace, show: Callable[[str], None]) -> None:
        shutil.rmtree(directory, ignore_errors=True)
        (directory / "store").mkdir(parents=True)
        self.directory = directory
        self._transfer = transfer
        self._tally = tally
        self._pace = pace
        self._show = show
        self._server = Server(transfer, directory / "store", directory / "server.log", free_port(random.Random()))
        self._client: Client | None = None
        # Number of uploads that may have left files behind because their sources no longer exist.
        self._interrupted = 0
        # Paths in the server's directory whose files were removed around the time of a kill, perhaps before the catalog
        # recorded that.
        self._unknown: set[str] = set()

    def close(self) -> None:
        """Ends all processes and leaves the directory."""
        if self._client is not None:
            self._client.abandon()
        self._server.abandon()

    def play(self, number: int, plan: SyncRoundPlan, source: random.Random) -> None:
        """Plays one round. Raises Broken if a promise is broken."""
        if not self._server.starts:
            self._server.start()
        _Round(self, number, plan, source).play()
        self._tally.descriptors = max(self._tally.descriptors, self._server.rest(_SPARE_DESCRIPTORS))
        self._tally.memory = max(self._tally.memory, self._server.memory)
        if self._server.memory > _MOST_MEMORY:
            raise Broken(f"the server takes {self._server.memory >> 20} MiB of memory")
        self._tally.syncs["rounds"] += 1

    def end(self) -> None:
        """Checks the catalog and the log after the last round. Raises Broken if a promise is broken."""
        self._server.stop()
        self._verify()
        if words := self._server.strange_words():
            raise Broken(f"the server said: {words[0]}")

    # Steps of a round

    @property
    def server(self) -> Server:
        return self._server

    def disturb(self, command: list[str], side: Side, step: SyncStep, kill: Kill) -> bool:
        """Runs a command and kills the victim. Returns False if the command ended before that."""
        count, size = len(side.differing), side.differing_bytes
        client = self._begin(command)
        lines = 1 + int(kill.share * count) if kill.counts_lines else None
        if not client.wait_for(kill.share * self._pace.expected(count, size), lines):
            self._finish((0,))
            return False
        client.mark()
        self._tally.syncs[f"kills of {kill.victim.value}"] += 1
        if kill.victim is not Victim.SERVER:
            self._show("kill -KILL the client")
            client.kill()
            self._finish((0, -9))
        if kill.victim is not Victim.CLIENT:
            self._show("kill -KILL the server, start it again")
            self._server.kill()
        self._look_still(side, step)
        if kill.victim is not Victim.CLIENT:
            self._server.start()
        if kill.victim is Victim.SERVER:
            self._finish(_STATUSES)
        return True

    def _look_still(self, side: Side, step: SyncStep) -> None:
        """Examines the target while the process that writes there is dead or suspended."""
        writer = self._server if step.pushes else self._client
        if writer is None or (writer is self._server and not self._server.runs):
            gone = self._look(side)
            if step.pushes:
                folder = side.target.directory.relative_to(self._server.directory)
                self._unknown.update(f"{folder}/{path}" for path in gone)
            return
        writer.freeze()
        self._look(side)
        writer.thaw()

    def _look(self, side: Side) -> set[str]:
        gone = side.look()
        self._tally.syncs["entries looked at"] += len(side.before)
        return gone

    def settle(self, side: Side) -> None:
        """Waits until the server has finished the requests of ended clients, before the source changes."""
        self._server.lose_clients()
        self._look(side)
        self._interrupted += sum(entry.size > content.BLOCK for entry in side.wanted.values())

    def complete(self, command: list[str], side: Side) -> None:
        """Runs a command to its end, and checks the result."""
        count, size = len(side.differing), side.differing_bytes
        self._begin(command)
        self._pace.learn(count, size, self._finish((0,)).seconds)
        self._look(side)
        side.require_same()
        self._compare(side)
        self._verify()
        if len(self._server.unfinished) > self._interrupted:
            raise Broken(f"{self._interrupted} uploads were given up, and {self._server.unfinished} is left of uploads")

    def _compare(self, side: Side) -> None:
        """Compares the trees with another program, if it is installed."""
        if shutil.which("rsync") is None:
            return
        left_out = [f"--exclude=/{name}" for name in (*_RESERVED, _BACKUP)]
        command = ["rsync", "-aHXn", "--checksum", "--delete", "--itemize-changes", *left_out]
        self._require([*command, f"{side.source.directory}/", f"{side.target.directory}/"], "rsync finds a difference")
        self._tally.syncs["compared by rsync"] += 1

    def _verify(self) -> None:
        """Checks that the catalog is right, except for changes that a killed server had no time to record."""
        self._unknown = {path for path in self._unknown if not os.path.lexists(self._server.directory / path)}
        command = [str(self._transfer), "verify", "--dir", str(self._server.directory), "--json", "--quiet"]
        found = subprocess.run(command, capture_output=True, check=False)
        if found.returncode not in (0, 1):
            raise Broken(f"verify ended with status {found.returncode}: {found.stderr[-500:]!r}")
        if problems := catalog_problems(found.stdout, self._unknown):
            raise Broken(f"the catalog is wrong: {problems[0]}")

    def ask(self, command: list[str], otherwise: str) -> str:
        """Runs a command that ends soon. Raises Broken if it fails."""
        return self._require(self._at_home(command), otherwise, is_silent=False)

    def count_restored(self) -> None:
        self._tally.syncs["restored from the trash"] += 1

    def _require(self, command: list[str], otherwise: str, is_silent: bool = True) -> str:
        found = subprocess.run(command, capture_output=True, check=False)
        if found.returncode != 0 or (is_silent and found.stdout):
            raise Broken(f"{otherwise}: status {found.returncode}, {found.stdout[-500:]!r} {found.stderr[-500:]!r}")
        return found.stdout.decode()

    def _at_home(self, command: list[str]) -> list[str]:
        return [*at_home(self.directory / "home"), str(self._transfer), *command]

    def _begin(self, command: list[str]) -> Client:
        self._tally.syncs["runs"] += 1
        client = Client(self._at_home(command), self.directory, None, self.directory / "client.log")
        self._client = client
        self._show(client.shown)
        return client

    def _finish(self, statuses: tuple[int, ...]) -> Run:
        assert self._client is not None
        run = self._client.finish()
        self._client = None
        self._show(f"ended with status {run.status} after {run.seconds:.3f} s")
        if run.status not in statuses:
            failed = [line for line in run.output.splitlines() if b'"result":"completed"' not in line]
            raise Broken(f"the client ended with status {run.status}: {run.errors[-500:]} {failed[-5:]!r}")
        return run


class _Round:
    """A local tree, its copy on the server, and a local copy of that."""

    def __init__(self, syncs: Syncs, number: int, plan: SyncRoundPlan, source: random.Random) -> None:
        self._syncs, self._plan, self._source = syncs, plan, source
        store = syncs.server.directory
        folder = f"r{number}"
        self._address = f"{syncs.server.address}:/{folder}"
        self._here = syncs.directory / "here" / folder
        self._back = syncs.directory / "back" / folder
        self._back.parent.mkdir(exist_ok=True)
        self._grove = Grove(self._here, source)
        copy, back = Tree(store / folder, [_BACKUP]), Tree(self._back, [*_RESERVED, _BACKUP])
        trashes = Trash(store / ".transfer" / "trash", folder), Trash(self._back / ".transfer" / "trash")
        if plan.backs_up:
            trashes = Backup(store / folder / _BACKUP), Backup(self._back / _BACKUP)
        self._push, self._pull = Side(Tree(self._here), copy, trashes[0]), Side(copy, back, trashes[1])

    def play(self) -> None:
        for step in self._plan.steps:
            self._grove.change(step.changes)
            self._take(step)
            if step.restores and step.pushes and not self._plan.backs_up:
                self._restore()
        shutil.rmtree(self._here)
        shutil.rmtree(self._back, ignore_errors=True)

    def _take(self, step: SyncStep) -> None:
        side = self._push if step.pushes else self._pull
        side.begin()
        keeping = ["--backup-dir", _BACKUP] if self._plan.backs_up else []
        command = ["sync", "--delete", "--json", "--plaintext", *keeping, *self._plan.flags, *self._operands(step)]
        for kill in step.kills:
            if not self._syncs.disturb(command, side, step, kill):
                break
            if kill.changes and step.pushes:
                self._syncs.settle(side)
                self._grove.change(self._source.randint(1, 5))
                side.begin()
        self._syncs.complete(command, side)
        self._syncs.ask(["check", "--checksum", "--plaintext", "--exclude", f"/{_BACKUP}", *self._operands(step)], "check finds a difference")
        if not step.pushes:
            self._require_tidy()

    def _operands(self, step: SyncStep) -> list[str]:
        if step.pushes:
            return [f"{self._here}/", self._address]
        return [f"{self._address}/", str(self._back)]

    def _require_tidy(self) -> None:
        """Checks that a sync from the server leaves nothing but its trash in the directory."""
        own = self._back / ".transfer"
        left = [path.name for path in own.iterdir() if path.name != "trash"] if own.exists() else []
        parts = self._back / ".transfer-parts"
        if parts.exists():
            # A client that was killed during a sync leaves a mark, which stays until the machine restarts.
            names = [path.name for path in parts.iterdir()]
            left += [name for name in names if not name.startswith("sync-running-")] or ([] if names else [parts.name])
        if left:
            raise Broken(f"a sync that has ended has left {left} in {self._back}")

    def _restore(self) -> None:
        paths = self._push.restorable()
        for path in self._source.sample(paths, min(_RESTORED, len(paths))):
            # An entry may have taken the place of a parent folder of the other.
            if path in self._push.restorable():
                self._push.restore(path, lambda: self._bring_back(path))

    def _bring_back(self, path: str) -> None:
        said = self._syncs.ask(
            ["trash", "restore", "--json", "--plaintext", "--from", self._address.replace(":/", "/"), "--", path],
            "the trash gives nothing back",
        )
        if [json.loads(line)["result"] for line in said.splitlines()] != ["completed"]:
            raise Broken(f"{path!r} was restored with {said!r}")
        self._syncs.count_restored()
