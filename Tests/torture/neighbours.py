"""A user who may write in the folders that another user sends from and pulls into. This neighbour swaps folders, links
and files beside a running push, watch, sync and pull, and reads everything it can. The other user is root, whom no
permission stops. The commands must not send, remove or make anything outside the folder, must not follow anything in
it, and must not let the neighbour read private files.
"""

from __future__ import annotations

import os
import random
import shutil
import signal
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from .people import at_home
from .program import Broken, Client, Server, free_port
from .tally import Tally

# Contents of the secret files. No file of the neighbour ever contains them.
_SECRET = b"Only root may read this: outside\n"
_PRIVATE = b"Only root may read this: stored\n"

# Numeric ID of the user without rights, which every Linux has.
_NOBODY = 65534

_FOLDERS = ["a", "b", "done", "done/a", "b/deep", "private", "private/in", "in", ".transfer-parts", "private/.transfer-parts"]
_FILES = ["1", "2", "key", ".bashrc"]

# Swaps of a folder or file before a pause, in which the command proceeds.
_SWAPS = 20

# Seconds for which the neighbour runs at most.
_SECONDS = 3.0

# Exit statuses of a command; 1 means that it left out and reported some files.
_STATUSES = (0, 1)


class Neighbour:
    """The other user: a process that changes names in a folder, and reads files, until it is ended."""

    def __init__(self, spool: Path, targets: list[Path], seed: int) -> None:
        self._loot_end, own = os.pipe()
        self._process = os.fork()
        if self._process == 0:
            # The child must not run the parent's cleanup.
            try:
                os.close(self._loot_end)
                os.setgroups([])
                os.setgid(_NOBODY)
                os.setuid(_NOBODY)
                os.umask(0)
                _change(spool, targets, random.Random(seed), own)
            finally:
                os._exit(1)
        os.close(own)

    def end(self) -> bytes:
        """Ends the neighbour. Returns the paths of the private files that it has read."""
        os.kill(self._process, signal.SIGKILL)
        os.waitpid(self._process, 0)
        with os.fdopen(self._loot_end, "rb") as loot:
            return loot.read()


def _change(spool: Path, targets: list[Path], source: random.Random, loot: int) -> None:
    number = 0
    while True:
        for _ in range(_SWAPS):
            number += 1
            try:
                _swap(spool, targets, source, number)
            except OSError:
                # The command or an earlier swap has changed the path already.
                pass
        _steal(spool, loot)


def _swap(spool: Path, targets: list[Path], source: random.Random, number: int) -> None:
    folder = spool / source.choice(_FOLDERS)
    file = spool / source.choice(["", *_FOLDERS]) / source.choice(_FILES)
    match source.randrange(7):
        case 0:
            folder.mkdir()
        case 1:
            os.rename(folder, spool / f"was-{number % 8}")
            folder.symlink_to(source.choice(targets))
        case 2 | 3:
            if folder.is_symlink():
                folder.unlink()
                os.rename(spool / f"was-{source.randrange(8)}", folder)
            else:
                folder.symlink_to(source.choice(targets))
        case 4:
            file.write_bytes(source.randbytes(source.choice([0, 10, 5000])))
        case 5:
            if file.is_symlink():
                file.unlink()
            else:
                os.replace(file, spool / "was-file")
            file.symlink_to(source.choice(targets) / source.choice(_FILES))
        case _:
            # The name that a removal or a pull gives to the file it works on.
            digits = f"{source.getrandbits(128):032x}"
            (folder / f".transfer-witness-{digits}-{source.choice(_FILES)}").write_bytes(b"x")


def _steal(spool: Path, loot: int) -> None:
    """Opens every file and reports those with private content."""
    for parent, _, names in os.walk(spool):
        for name in names:
            try:
                number = os.open(os.path.join(parent, name), os.O_RDONLY | os.O_NONBLOCK)
            except OSError:
                continue
            content = os.read(number, 4096)
            os.close(number)
            if _SECRET in content or _PRIVATE in content:
                os.write(loot, f"{parent}/{name}\n".encode(errors="replace"))


@dataclass(frozen=True)
class NeighbourStep:
    """One command beside the neighbour."""

    command: tuple[str, ...]
    seed: int

    @staticmethod
    def make(source: random.Random) -> NeighbourStep:
        commands = [
            ("push", "SPOOL", "--delete-source", "--to", "SERVER"),
            ("push", "SPOOL", "--archive", "--delete-source", "--to", "SERVER"),
            ("push", "SPOOL", "--to", "SERVER"),
            ("watch", "SPOOL", "SERVER:/", "--once", "--settle", "0.1", "--delete-source"),
            ("watch", "SPOOL", "SERVER:/", "--once", "--settle", "0.1", "--move-to", "SPOOL/done"),
            ("sync", "SPOOL/", "SERVER:/synced", "--delete"),
            ("pull", "private", "--from", "SERVER", "-o", "SPOOL/"),
            ("sync", "SERVER:/private/", "SPOOL", "--delete"),
        ]
        return NeighbourStep(source.choice(commands), source.getrandbits(32))


@dataclass(frozen=True)
class NeighbourPlan:
    """One round, decided by its seed alone."""

    steps: tuple[NeighbourStep, ...]

    @staticmethod
    def make(source: random.Random) -> NeighbourPlan:
        return NeighbourPlan(tuple(NeighbourStep.make(source) for _ in range(source.randint(3, 6))))


class Neighbours:
    """A server, a folder that every user may write in, and private files beside it."""

    def __init__(self, transfer: Path, directory: Path, tally: Tally, show: Callable[[str], None]) -> None:
        shutil.rmtree(directory, ignore_errors=True)
        directory.mkdir(parents=True)
        self.directory = directory
        self._transfer, self._tally, self._show = transfer, tally, show
        self._server = Server(transfer, directory / "store", directory / "server.log", free_port(random.Random()))
        self._client: Client | None = None
        self._neighbour: Neighbour | None = None
        self._home, self._spool = directory / "home", directory / "spool"
        # A folder that only root may read, and one that every user may read.
        self._targets = [directory / "secret", directory / "outside"]
        for folder in [*self._targets, directory / "store" / "private" / "in", self._home]:
            folder.mkdir(parents=True)
        for folder in self._targets:
            for name in _FILES:
                (folder / name).write_bytes(_SECRET)
                (folder / name).chmod(0o600)
        self._targets[0].chmod(0o700)
        for name in ["1", "2", "in/1"]:
            (directory / "store" / "private" / name).write_bytes(_PRIVATE * 2000)
            (directory / "store" / "private" / name).chmod(0o600)
        self._beside = self._look_beside()

    @staticmethod
    def missing() -> str | None:
        """Why these rounds are impossible here, or None."""
        return None if os.geteuid() == 0 else "not root"

    def close(self) -> None:
        """Ends all processes and leaves the directory."""
        if self._neighbour is not None:
            self._neighbour.end()
        if self._client is not None:
            self._client.abandon()
        self._server.abandon()

    def play(self, plan: NeighbourPlan) -> None:
        """Plays one round. Raises Broken if a promise is broken."""
        if not self._server.starts:
            self._server.start()
        for step in plan.steps:
            self._fill()
            self._take(step)
        self._tally.neighbours["rounds"] += 1

    def end(self) -> None:
        """Ends the server after the last round. Raises Broken if that fails."""
        self._server.stop()

    def _fill(self) -> None:
        """Fills the folder again, with files that belong to root."""
        shutil.rmtree(self._spool, ignore_errors=True)
        self._spool.mkdir()
        self._spool.chmod(0o777)
        for folder in ["a", "b", "b/deep"]:
            (self._spool / folder).mkdir(exist_ok=True)
            (self._spool / folder).chmod(0o777)
            for number in range(6):
                (self._spool / folder / f"{number}").write_bytes(os.urandom(2000))
        for name in ["1", "2"]:
            (self._spool / name).write_bytes(os.urandom(100_000))

    def _take(self, step: NeighbourStep) -> None:
        words = [word.replace("SPOOL", str(self._spool)).replace("SERVER", self._server.address) for word in step.command]
        command = [*at_home(self._home), str(self._transfer), *words, "--plaintext"]
        self._neighbour = Neighbour(self._spool, self._targets, step.seed)
        self._client = Client(command, self.directory, None, self.directory / "client.log")
        self._show(self._client.shown)
        # A watch does not end while the neighbour makes files.
        self._client.wait_for(_SECONDS, None)
        loot = self._neighbour.end()
        self._neighbour = None
        run = self._client.finish()
        self._client = None
        self._tally.neighbours["commands"] += 1
        if run.status not in _STATUSES:
            raise Broken(f"the command ended with status {run.status}: {run.errors[-500:]}")
        if loot:
            raise Broken(f"the neighbour has read what is private: {loot[:300].decode(errors='replace')}")
        self._examine()

    def _examine(self) -> None:
        beside = self._look_beside()
        if changed := sorted(beside.items() ^ self._beside.items()):
            raise Broken(f"something outside the folder was changed: {changed[:4]}")
        for parent, folders, names in os.walk(self._server.directory):
            if Path(parent) == self._server.directory and ".transfer" in folders:
                folders.remove(".transfer")
            for name in names:
                path = Path(parent) / name
                if not path.is_symlink() and _SECRET in path.read_bytes():
                    raise Broken(f"{path} was sent, and is outside of what was named")

    def _look_beside(self) -> dict[str, tuple[int, ...]]:
        """The state of the folders that no command names."""
        found: dict[str, tuple[int, ...]] = {}
        for target in self._targets:
            for path in [target, *target.rglob("*")]:
                status = path.lstat()
                found[str(path)] = (status.st_ino, status.st_mode, status.st_uid, status.st_size, status.st_mtime_ns, status.st_nlink)
        return found
