"""Two machines that sync one folder of a server, while clients and the server are killed. Nobody deletes anything on purpose, so
every content that the server has acknowledged is somewhere afterwards: under its name, in a trash, or in a copy of a conflict.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from . import content
from .mounts import ENVIRONMENT
from .pace import Pace
from .people import at_home
from .plan import Kill, Victim
from .program import Broken, Client, Server, free_port
from .tally import Tally

_SPARE_DESCRIPTORS = 8

# Both machines use these, so that they meet. Where case is ignored, some of them are one name.
_NAMES = ["a.txt", "b.txt", "Notes.txt", "notes.txt", "d/a.txt", "d/A.txt", "d/e/c.txt", "f"]

# Folders in which nothing is kept for anybody.
_NOT_KEPT = ("incoming", ".transfer-parts")

# What a sync may end with: all is the same, or something was left and told; also that a server was lost, where one was killed.
_STATUSES = (0, 1)
_STATUSES_OF_A_KILL = (0, 1, 3)

# Why something may be left, beside a conflict.
_REASONS = {"pathConflict", "sourceChanged", "fileChanged", "otherVersion", "notFound", "busy", "aborted", "incomplete"}

_IMAGE_BYTES = 256 * content.MIB


@dataclass(frozen=True)
class MachineStep:
    """One machine changes its files and syncs, which is repeated until nobody is killed."""

    machine: int
    pushes: bool
    edits: int
    # Seconds that its clock is off.
    skew: int
    flags: tuple[str, ...]
    kills: tuple[Kill, ...]

    @staticmethod
    def make(source: random.Random) -> MachineStep:
        flags: list[str] = []
        if source.random() < 0.2:
            flags.append("--delete")
        if source.random() < 0.3:
            flags += ["--on-conflict", source.choice(["source", "newer", "both", "fail"])]
        if source.random() < 0.1:
            flags.append("--update")
        kills = tuple(Kill.make(source) for _ in range(source.choice([0, 0, 1, 1, 2])))
        return MachineStep(
            machine=source.randrange(2), pushes=source.random() < 0.6, edits=source.randrange(5),
            skew=source.choice([0, 0, -3600, 3600]), flags=tuple(flags), kills=kills,
        )


@dataclass(frozen=True)
class MachineRoundPlan:
    """One round, decided by its seed alone."""

    steps: tuple[MachineStep, ...]

    @staticmethod
    def make(source: random.Random) -> MachineRoundPlan:
        return MachineRoundPlan(tuple(MachineStep.make(source) for _ in range(source.randint(4, 12))))


class SpellingDisk:
    """A file system that takes two spellings of a name for one: NTFS by lowntfs-3g(8), which is told to ignore case."""

    def __init__(self, directory: Path) -> None:
        """Raises OSError where there can be none."""
        directory.mkdir(parents=True)
        self._image = directory.with_suffix(".image")
        self._place = directory
        with self._image.open("wb") as image:
            image.truncate(_IMAGE_BYTES)
        self._run("mkntfs", "--quick", "--force", "--quiet", str(self._image))
        self._run("lowntfs-3g", "-o", "ignore_case,permissions,streams_interface=none", str(self._image), str(directory))

    @staticmethod
    def missing() -> str | None:
        """Why there can be none."""
        if os.geteuid() != 0:
            return "not root"
        if not Path("/dev/fuse").exists():
            return "there is no /dev/fuse"
        for program in ("mkntfs", "lowntfs-3g"):
            if shutil.which(program, path=ENVIRONMENT["PATH"]) is None:
                return f"{program} is not installed"
        return None

    @staticmethod
    def drop_cached_names() -> None:
        """Lets the kernel ask again for each name: it keeps for a second that a FUSE file system had no file of one spelling."""
        Path("/proc/sys/vm/drop_caches").write_text("2\n")

    def close(self) -> None:
        """Lets go of it."""
        subprocess.run(["umount", "-l", str(self._place)], check=False, capture_output=True, env=ENVIRONMENT)
        self._image.unlink(missing_ok=True)

    @staticmethod
    def _run(*command: str) -> None:
        found = subprocess.run(command, capture_output=True, text=True, check=False, env=ENVIRONMENT)
        if found.returncode != 0:
            raise OSError(f"{command[0]}: {found.stderr.strip()}")


class Machine:
    """A directory with a home of its own: what its syncs have seen is in there."""

    def __init__(self, directory: Path, source: random.Random) -> None:
        self.files, self.home = directory / "files", directory / "home"
        self.files.mkdir(parents=True)
        self._source = source

    def edit(self, skew: int) -> None:
        """Makes one change of any kind."""
        present = sorted(str(path.relative_to(self.files)) for path in _files(self.files, ()))
        kind = self._source.random()
        if present and kind < 0.15:
            (self.files / self._source.choice(present)).unlink()
        elif present and kind < 0.3:
            self._rename(self._source.choice(present), self._source.choice(_NAMES))
        else:
            self._write(self._source.choice(present if present and kind < 0.7 else _NAMES), skew)

    def _write(self, name: str, skew: int) -> None:
        path = self.files / name
        if path.is_dir():
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        # No two are the same: a content that is there once more would hide that one was lost.
        size = self._source.choice([16, 400, 9000, content.BLOCK + 1])
        data = self._source.randbytes(16) + content.make(size, self._source)
        # As editors save.
        with tempfile.NamedTemporaryFile(dir=path.parent, prefix=".edit-", delete=False) as file:
            file.write(data)
        os.replace(file.name, path)
        if skew:
            now = path.stat().st_mtime_ns + skew * 1_000_000_000
            os.utime(path, ns=(now, now))

    def _rename(self, name: str, new: str) -> None:
        if (self.files / new).exists():
            return
        (self.files / new).parent.mkdir(parents=True, exist_ok=True)
        os.rename(self.files / name, self.files / new)

    def digests(self) -> dict[str, str]:
        """Of the content at each path."""
        return {str(path.relative_to(self.files)): content.digest_of(path) for path in _files(self.files, (".transfer",))}


def _files(directory: Path, left_out: tuple[str, ...]) -> Iterator[Path]:
    """The files in a directory, but for those in folders that are called so."""
    for parent, folders, names in os.walk(directory):
        folders[:] = sorted(name for name in folders if name not in left_out)
        for name in sorted(names):
            path = Path(parent) / name
            if path.is_file() and not path.is_symlink():
                yield path


class Machines:
    """A server directory, two machines, and the rounds that share them."""

    def __init__(
        self, transfer: Path, directory: Path, tally: Tally, source: random.Random, ignores_case: bool,
        show: Callable[[str], None],
    ) -> None:
        """Raises OSError where there is no file system that ignores case, and there should be."""
        shutil.rmtree(directory, ignore_errors=True)
        directory.mkdir(parents=True)
        self.directory = directory
        self._transfer, self._tally, self._show = transfer, tally, show
        self._pace = Pace()
        self._disk = SpellingDisk(directory / "store") if ignores_case else None
        (directory / "store").mkdir(exist_ok=True)
        self._machines = [Machine(directory / f"machine{number}", source) for number in range(2)]
        self._server = Server(transfer, directory / "store", directory / "server.log", free_port(random.Random()))
        self._client: Client | None = None
        # What was acknowledged: where each content was, by its digest.
        self._owed: dict[str, str] = {}

    def close(self) -> None:
        """Ends everything and leaves the directory."""
        if self._client is not None:
            self._client.abandon()
        self._server.abandon()
        if self._disk is not None:
            self._disk.close()

    def play(self, plan: MachineRoundPlan) -> None:
        """One round. Raises Broken."""
        if not self._server.starts:
            self._server.start()
        for step in plan.steps:
            machine = self._machines[step.machine]
            for _ in range(step.edits):
                machine.edit(step.skew)
            self._take(step, machine)
        self._tally.descriptors = max(self._tally.descriptors, self._server.rest(_SPARE_DESCRIPTORS))
        self._tally.memory = max(self._tally.memory, self._server.memory)
        self._tally.machines["rounds"] += 1

    def end(self) -> None:
        """After the last round. Raises Broken."""
        self._server.stop()
        if words := self._server.strange_words():
            raise Broken(f"the server said: {words[0]}")

    def _take(self, step: MachineStep, machine: Machine) -> None:
        for kill in step.kills:
            if not self._sync(step, machine, kill):
                break
        else:
            self._sync(step, machine, None)
        self._look()

    def _sync(self, step: MachineStep, machine: Machine, kill: Kill | None) -> bool:
        """Runs a sync and may kill somebody. Returns False when it came to its end by itself."""
        present = machine.digests()
        here, there = f"{machine.files}/", f"{self._server.address}:/shared"
        operands = [here, there] if step.pushes else [f"{there}/", here]
        command = ["sync", "--json", "--plaintext", *step.flags, *operands]
        client = self._begin([*at_home(machine.home), str(self._transfer), *command])
        statuses = _STATUSES if kill is None else _STATUSES_OF_A_KILL
        has_killed = kill is not None and self._kill(kill, client, len(present), statuses)
        run = client.finish()
        self._client = None
        if not has_killed and run.status not in statuses and not self._lacks_source(step, run.errors):
            raise Broken(f"the sync ended with status {run.status}: {run.errors[-500:]} {run.output[-1000:]!r}")
        if kill is not None and not self._server.runs:
            self._server.start()
        self._note(step, machine, present, run.output)
        return has_killed

    def _lacks_source(self, step: MachineStep, errors: str) -> bool:
        """Whether nothing was ever sent that could come back."""
        return not step.pushes and not (self._server.directory / "shared").exists() and "shared" in errors

    def _begin(self, command: list[str]) -> Client:
        self._tally.machines["runs"] += 1
        self._client = Client(command, self.directory, None, self.directory / "client.log")
        self._show(self._client.shown)
        return self._client

    def _kill(self, kill: Kill, client: Client, count: int, statuses: tuple[int, ...]) -> bool:
        """Returns False where it was over before."""
        lines = 1 + int(kill.share * count) if kill.counts_lines else None
        if not client.wait_for(kill.share * self._pace.expected(count, count * content.MIB), lines):
            return False
        self._tally.machines[f"kills of {kill.victim.value}"] += 1
        self._show(f"kill -KILL: {kill.victim.value}")
        if kill.victim is not Victim.SERVER:
            client.kill()
        if kill.victim is not Victim.CLIENT:
            self._server.kill()
            self._server.start()
        return True

    def _note(self, step: MachineStep, machine: Machine, present: dict[str, str], output: bytes) -> None:
        """Takes down what was acknowledged, and looks why something was not."""
        for line in output.splitlines():
            try:
                said = json.loads(line)
            except ValueError:
                # The end of one that was killed.
                continue
            if "action" not in said or said["dryRun"]:
                continue
            path, is_stored = said["path"], said["result"] == "completed"
            if step.pushes and path in present:
                if is_stored and said["action"] in ("new", "changed") or said["action"] == "conflict" and said["copy"]:
                    self._owed[present[path]] = path
                    self._tally.machines["acknowledged"] += 1
            if said["action"] == "conflict":
                self._tally.machines["conflicts"] += 1
            elif not is_stored and said["result"] not in _REASONS | {"connectionLost", "unavailable", "shuttingDown"}:
                raise Broken(f"{machine.files}: {line.decode()}")

    def _look(self) -> None:
        """Looks for everything that was acknowledged. Raises Broken."""
        self._server.lose_clients()
        if self._disk is not None:
            self._disk.drop_cached_names()
        found: set[str] = set()
        for place in [self._server.directory, *(machine.files for machine in self._machines)]:
            found.update(content.digest_of(path) for path in _files(place, _NOT_KEPT))
        self._tally.machines["looked for"] += len(self._owed)
        if lost := sorted(path for digest, path in self._owed.items() if digest not in found):
            raise Broken(f"acknowledged, deleted by nobody, and nowhere: what was at {lost[0]!r}, and {len(lost) - 1} more")
