"""Two machines that sync one folder of a server, while clients and the server are killed. No command deletes anything
on purpose, so every content that the server has acknowledged exists afterwards: under its name, in a trash, or in a
copy of a conflict.
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

# Both machines use these names, so that their changes collide. A file system that ignores case treats some of them as
# one name.
_NAMES = ["a.txt", "b.txt", "Notes.txt", "notes.txt", "d/a.txt", "d/A.txt", "d/e/c.txt", "f"]

# Folders whose content may be lost.
_NOT_KEPT = ("incoming", ".transfer-parts")

# Exit statuses of a sync: both sides are equal, or some files were left out and reported. If a process was killed, also
# a lost server.
_STATUSES = (0, 1)
_STATUSES_OF_A_KILL = (0, 1, 3)

# Reasons for leaving out a file, in addition to a conflict.
_REASONS = {"pathConflict", "sourceChanged", "fileChanged", "otherVersion", "notFound", "busy", "aborted", "incomplete"}

_IMAGE_BYTES = 256 * content.MIB


@dataclass(frozen=True)
class MachineStep:
    """One machine changes its files and syncs. The sync is repeated until no process is killed."""

    machine: int
    pushes: bool
    edits: int
    # Seconds by which the machine's clock is wrong.
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
    """A file system that treats two spellings of a name as one: NTFS by lowntfs-3g(8) with the option to ignore case.
    """

    def __init__(self, directory: Path) -> None:
        """Raises OSError if this machine cannot have such a file system."""
        directory.mkdir(parents=True)
        self._image = directory.with_suffix(".image")
        self._place = directory
        with self._image.open("wb") as image:
            image.truncate(_IMAGE_BYTES)
        self._run("mkntfs", "--quick", "--force", "--quiet", str(self._image))
        self._run("lowntfs-3g", "-o", "ignore_case,permissions,streams_interface=none", str(self._image), str(directory))

    @staticmethod
    def missing() -> str | None:
        """Why this machine cannot have such a file system, or None."""
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
        """Drops the kernel's cached names: for a second, the kernel remembers that a FUSE file system had no file with
        one spelling."""
        Path("/proc/sys/vm/drop_caches").write_text("2\n")

    def close(self) -> None:
        """Unmounts the file system and removes its image."""
        subprocess.run(["umount", "-l", str(self._place)], check=False, capture_output=True, env=ENVIRONMENT)
        self._image.unlink(missing_ok=True)

    @staticmethod
    def _run(*command: str) -> None:
        found = subprocess.run(command, capture_output=True, text=True, check=False, env=ENVIRONMENT)
        if found.returncode != 0:
            raise OSError(f"{command[0]}: {found.stderr.strip()}")


class Machine:
    """A directory, and a separate home in which syncs keep their state."""

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
        # Every content is different, because a second copy would hide the loss of the first.
        size = self._source.choice([16, 400, 9000, content.BLOCK + 1])
        data = self._source.randbytes(16) + content.make(size, self._source)
        # Replaces the file as editors do.
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
        """The digest of the content at each path."""
        return {str(path.relative_to(self.files)): content.digest_of(path) for path in _files(self.files, (".transfer",))}


def _files(directory: Path, left_out: tuple[str, ...]) -> Iterator[Path]:
    """The files in a directory, except those in folders with the names in `left_out`."""
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
        """Raises OSError if a file system that ignores case is needed and this machine cannot have one."""
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
        # The path of each acknowledged content, by its digest.
        self._owed: dict[str, str] = {}

    def close(self) -> None:
        """Ends all processes and closes the disk. Does not delete the directory."""
        if self._client is not None:
            self._client.abandon()
        self._server.abandon()
        if self._disk is not None:
            self._disk.close()

    def play(self, plan: MachineRoundPlan) -> None:
        """Plays one round. Raises Broken if a promise is broken."""
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
        """Ends the server after the last round. Raises Broken if its log has unexpected lines."""
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
        """Runs a sync and may kill a process. Returns False if the sync ended by itself."""
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
        """Whether the sync failed because the server's folder was never made."""
        return not step.pushes and not (self._server.directory / "shared").exists() and "shared" in errors

    def _begin(self, command: list[str]) -> Client:
        self._tally.machines["runs"] += 1
        self._client = Client(command, self.directory, None, self.directory / "client.log")
        self._show(self._client.shown)
        return self._client

    def _kill(self, kill: Kill, client: Client, count: int, statuses: tuple[int, ...]) -> bool:
        """Kills the victim. Returns False if the sync ended before that."""
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
        """Records what was acknowledged, and checks the reasons for everything that was not."""
        for line in output.splitlines():
            try:
                said = json.loads(line)
            except ValueError:
                # A killed client leaves an incomplete last line.
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
        """Looks for everything that was acknowledged. Raises Broken if some of it is missing."""
        self._server.lose_clients()
        if self._disk is not None:
            self._disk.drop_cached_names()
        found: set[str] = set()
        for place in [self._server.directory, *(machine.files for machine in self._machines)]:
            found.update(content.digest_of(path) for path in _files(place, _NOT_KEPT))
        self._tally.machines["looked for"] += len(self._owed)
        if lost := sorted(path for digest, path in self._owed.items() if digest not in found):
            raise Broken(f"acknowledged, deleted by nobody, and nowhere: what was at {lost[0]!r}, and {len(lost) - 1} more")
