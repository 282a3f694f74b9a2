#!/usr/bin/env python3
"""Watches a directory with many changes, kills watch and server meanwhile, and checks the server's files at the end.

Tests/watch/hour.py --seconds 3600 --seed 7
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import random
import re
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import IO

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import children  # noqa: E402

children.have_default_signals()

# Seconds for which a file must stay unchanged before it is sent.
SETTLE = 0.4
# A longer pause of a writer can make the watch consider the file complete.
LONGEST_PAUSE = SETTLE / 2
# Seconds to wait for the remaining files after the last change. The watch tries a refused file again after 30 seconds
# or more.
PATIENCE = 120.0
MODES = ("stays", "removed", "moved")
TEMPORARY = ".part"
# A file that a watch has set aside to remove. A mere witness has no name after its number.
TAKEN = re.compile(r"\.transfer-witness-([0-9a-f]{32})-(.+)", re.DOTALL)
LISTENING = re.compile(r"listening on (\S+)\n")


class Broken(Exception):
    """A promise was not kept."""


def digest(content: bytes) -> bytes:
    """The digest of a content. The contents of an hour do not fit into memory."""
    return hashlib.blake2b(content, digest_size=16).digest()


class Process:
    """A program that is started repeatedly. Its output is kept in files, and waiting threads are notified of new
    output."""

    def __init__(self, arguments: list[str], folder: Path, name: str) -> None:
        self.arguments = arguments
        self.folder = folder
        self.name = name
        self.process: subprocess.Popen[bytes] | None = None
        self.news = threading.Condition()
        self.readers: list[threading.Thread] = []
        # Bytes of errors in the file that belong to earlier runs.
        self.earlier = 0

    def start(self) -> None:
        self.earlier = len(self.errors)
        environment = {"HOME": str(self.folder), "PATH": os.environ["PATH"]}
        self.process = subprocess.Popen(
            self.arguments, cwd=self.folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        assert self.process.stdout and self.process.stderr
        self.readers = [
            threading.Thread(target=self.keep, args=(stream, self.folder / f"{self.name}.{kind}"))
            for stream, kind in ((self.process.stdout, "out"), (self.process.stderr, "err"))
        ]
        for reader in self.readers:
            reader.start()

    def keep(self, stream: IO[bytes], path: Path) -> None:
        with stream, path.open("ab", buffering=0) as file:
            while piece := os.read(stream.fileno(), 1 << 16):
                file.write(piece)
                with self.news:
                    self.news.notify_all()
        with self.news:
            self.news.notify_all()

    def wait_for(self, condition: Callable[[], bool]) -> bool:
        """Checks the condition at each new output, for at most PATIENCE seconds. Returns whether it became true."""
        with self.news:
            return self.news.wait_for(condition, PATIENCE)

    def ended(self) -> None:
        for reader in self.readers:
            reader.join()

    def signal(self, number: int) -> None:
        assert self.process
        self.process.send_signal(number)

    def end(self, number: int) -> int:
        assert self.process
        self.process.send_signal(signal.SIGCONT)
        self.process.send_signal(number)
        code = self.process.wait(PATIENCE)
        self.ended()
        return code

    def abandon(self) -> None:
        if self.process and self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        self.ended()

    def check(self, within: float = 0) -> None:
        """Waits for that many seconds. Raises Broken if the program has ended, because it should not end by itself."""
        assert self.process
        if self.process.poll() is None:
            descriptor = os.pidfd_open(self.process.pid)
            try:
                select.select([descriptor], [], [], within)
            finally:
                os.close(descriptor)
        if self.process.poll() is not None:
            raise Broken(f"{self.name} ended by itself with {self.process.returncode}")

    @property
    def has_spoken(self) -> bool:
        """Whether the present run has printed anything: before that it may not handle signals yet."""
        return len(self.errors) > self.earlier

    @property
    def errors(self) -> str:
        path = self.folder / f"{self.name}.err"
        return path.read_text(errors="replace") if path.exists() else ""

    @property
    def objects(self) -> list[dict[str, object]]:
        # A kill can cut off the last line.
        lines = (self.folder / f"{self.name}.out").read_bytes().split(b"\n")
        found = []
        for line in lines:
            for piece in re.findall(rb'\{"schema".*?"message":"[^"]*"(?:,"movedTo":"[^"]*")?\}', line):
                found.append(json.loads(piece))
        return found


class Folder:
    """The watched directory, and a record of the contents that the server must have at the end."""

    def __init__(self, path: Path, dice: random.Random, pause: Callable[[float], None]) -> None:
        self.path = path
        self.dice = dice
        # Called by a slow writer between two pieces.
        self.pause = pause
        # The digest state of each file, which is continued when the file grows.
        self.live: dict[str, hashlib.blake2b] = {}
        # Digests of the contents that the watch removed before this program did. `whole` and `late` have digests of
        # contents, too.
        self.taken: set[bytes] = set()
        # Digests of every content that was ever complete.
        self.whole: set[bytes] = set()
        # Contents of files whose writers have paused for too long: their beginnings may have been sent.
        self.paused: list[bytes] = []
        # Digests of contents that were appended to a file just after its removal, which the watch need not see.
        self.late: set[bytes] = set()
        self.count = 0

    def content(self, sizes: tuple[int, ...] = (0, 1, 100, 4_000, 4_000, 70_000, 70_000, 1_500_000)) -> bytes:
        self.count += 1
        size = self.dice.choice(sizes)
        return f"{self.count} ".encode() + self.dice.randbytes(size)

    def name(self) -> str:
        folder = self.dice.choice(("", "", "a/", "b/", "b/deep/er/", "ü ñ/"))
        return folder + self.dice.choice(("one", "two", "three", "four", "five.jpg", "six \n line.txt"))

    def act(self) -> None:
        acts = (
            self.write, self.write, self.write_slowly, self.write_beside, self.append, self.rename, self.remove,
            self.rename_folder, self.remove_folder, self.many,
        )  # fmt: skip
        self.dice.choice(acts)()

    def settled(self, name: str, content: bytes) -> None:
        self.known(name, hashlib.blake2b(content, digest_size=16))

    def known(self, name: str, state: hashlib.blake2b) -> None:
        self.live[name] = state
        self.whole.add(state.digest())

    def write(self) -> None:
        self.write_at_once(self.name(), self.content())

    def write_at_once(self, name: str, content: bytes) -> None:
        self.make(name)
        # A new inode, so that a file that is being read keeps its bytes.
        self.forget(name)
        (self.path / name).write_bytes(content)
        self.settled(name, content)

    def write_slowly(self) -> None:
        name, content = self.name(), self.content()
        self.make(name)
        self.forget(name)
        last, longest = time.monotonic(), 0.0
        pieces = self.dice.randint(2, 6)
        step = len(content) // pieces + 1
        with (self.path / name).open("wb", buffering=0) as file:
            for start in range(0, len(content), step):
                file.write(content[start : start + step])
                longest, last = max(longest, time.monotonic() - last), time.monotonic()
                if longest > LONGEST_PAUSE:
                    self.paused.append(content)
                self.pause(SETTLE / 10)
        self.settled(name, content)

    def write_beside(self) -> None:
        name, content = self.name(), self.content()
        self.make(name)
        draft = self.path / f"{name}{TEMPORARY}"
        draft.write_bytes(content)
        self.forget(name, removes=False)
        draft.rename(self.path / name)
        self.settled(name, content)

    def append(self) -> None:
        if not self.live:
            return
        name = self.dice.choice(sorted(self.live))
        before = self.live.pop(name)
        after = before.copy()
        after.update(b" more")
        try:
            with (self.path / name).open("r+b", buffering=0) as file:
                file.seek(0, os.SEEK_END)
                file.write(b" more")
                if os.fstat(file.fileno()).st_nlink == 0 or not (self.path / name).exists():
                    # If the watch sees the change in time, the file gets its name back.
                    self.late.add(after.digest())
                    self.whole.add(after.digest())
                    return
            self.known(name, after)
        except FileNotFoundError:
            self.taken.add(before.digest())

    def rename(self) -> None:
        if not self.live:
            return
        old, new = self.dice.choice(sorted(self.live)), self.name()
        if old == new:
            return
        self.make(new)
        state = self.live.pop(old)
        self.forget(new, removes=False)
        try:
            (self.path / old).rename(self.path / new)
            self.known(new, state)
        except FileNotFoundError:
            self.taken.add(state.digest())

    def remove(self) -> None:
        if self.live:
            self.forget(self.dice.choice(sorted(self.live)))

    def rename_folder(self) -> None:
        new = f"moved{self.dice.randint(0, 3)}"
        if not (self.path / "b").is_dir() or (self.path / new).exists():
            return
        (self.path / "b").rename(self.path / new)
        for name in [name for name in self.live if name.startswith("b/")]:
            self.live[f"{new}{name[1:]}"] = self.live.pop(name)

    def remove_folder(self) -> None:
        name = self.dice.choice(("a", "moved0", "moved1", "moved2", "moved3"))
        # The watch may have removed some of the folder's files already, and this program does not know which.
        self.live = {key: value for key, value in self.live.items() if not key.startswith(f"{name}/")}
        for path in (self.path / name).rglob("*"):
            if path.is_file():
                self.lose(str(path.relative_to(self.path)))
        shutil.rmtree(self.path / name, ignore_errors=True)

    def many(self) -> None:
        folder = f"many{self.dice.randint(0, 2)}"
        for number in range(self.dice.randint(10, 300)):
            self.write_at_once(f"{folder}/{number}", self.content((0, 1, 100, 4_000)))

    def make(self, name: str) -> None:
        (self.path / name).parent.mkdir(parents=True, exist_ok=True)

    def forget(self, name: str, removes: bool = True) -> None:
        """Removes the file under a name. If not `removes`, prepares to replace it."""
        state = self.live.pop(name, None)
        if state is None:
            self.lose(name)
        if not removes:
            return
        try:
            (self.path / name).unlink()
        except FileNotFoundError:
            if state is not None:
                self.taken.add(state.digest())

    def lose(self, name: str) -> None:
        """Forgets a content that the watch had put back because the file had changed: this program removes it now."""
        try:
            self.taken.discard(digest((self.path / name).read_bytes()))
        except FileNotFoundError:
            pass

    @property
    def required(self) -> dict[bytes, str]:
        return {**dict.fromkeys(self.taken, "taken"), **{state.digest(): name for name, state in self.live.items()}}


class Hour:
    """One run of the test."""

    def __init__(self, binary: str, seconds: float, seed: int, folder: Path) -> None:
        self.seconds = seconds
        self.dice = random.Random(seed)
        self.mode = MODES[seed % len(MODES)]
        self.folder = folder
        (folder / "watched").mkdir()
        self.watched = Folder(folder / "watched", self.dice, lambda seconds: self.watch.check(within=seconds))
        self.stored = folder / "stored"
        self.binary = binary
        self.server = self.serve("127.0.0.1:0")
        self.server.start()
        self.address = self.listening()
        self.server.arguments = self.serve(self.address).arguments
        self.watch = Process([*self.watching, "--json"], folder, "watch")
        self.watch.start()
        self.kills = 0
        # Digests of files that were read, by inode, size and times.
        self.digests: dict[tuple[int, int, int, int], bytes] = {}

    def serve(self, address: str) -> Process:
        arguments = [self.binary, "serve", "--dir", "stored", "--listen", address, "--plaintext"]
        return Process(arguments, self.folder, "server")

    @property
    def watching(self) -> list[str]:
        after = {"stays": [], "removed": ["--delete-source"], "moved": ["--move-to", "watched/done"]}[self.mode]
        return [
            self.binary, "watch", "watched", "--to", f"{self.address}/in", "--plaintext", "--settle", f"{SETTLE * 1000:.0f}ms",
            *after,
        ]  # fmt: skip

    def listening(self) -> str:
        if not self.server.wait_for(lambda: bool(LISTENING.search(self.server.errors))):
            raise Broken("the server does not listen")
        return LISTENING.findall(self.server.errors)[0]

    def run(self) -> None:
        end = time.monotonic() + self.seconds
        while time.monotonic() < end:
            if self.dice.random() < 0.08:
                self.blow()
            else:
                self.watched.act()
            self.watch.check(within=self.dice.choice((0, 0, 0.01, 0.1, SETTLE)))
        self.settle()
        self.examine()

    def blow(self) -> None:
        """Ends or suspends the watch or the server."""
        self.kills += 1
        match self.dice.choice(("kill watch", "stop watch", "kill server", "stop server", "hold watch", "hold server")):
            case "kill watch":
                self.watch.end(signal.SIGKILL)
                self.watch.start()
            case "stop watch":
                begun = self.watch.has_spoken
                code = self.watch.end(signal.SIGTERM)
                if code != 0 and (begun or code != -signal.SIGTERM):
                    raise Broken(f"a watch that was stopped ended with {code}")
                self.watch.start()
            case "kill server":
                self.server.end(signal.SIGKILL)
                self.watch.check(within=self.dice.random())
                self.server.start()
            case "stop server":
                self.server.end(signal.SIGTERM)
                self.watch.check(within=self.dice.random())
                self.server.start()
            case "hold watch":
                self.hold(self.watch)
            case "hold server":
                self.hold(self.server)

    def hold(self, process: Process) -> None:
        process.signal(signal.SIGSTOP)
        for _ in range(self.dice.randint(1, 8)):
            self.watched.act()
        process.signal(signal.SIGCONT)

    def settle(self) -> None:
        """Waits until the server has all present files."""
        # The watch prints a line when a file is stored and its source is settled, so there is output to wait for.
        self.watch.wait_for(lambda: not self.missing() and (self.mode == "stays" or not self.rest()))
        self.watch.check()
        if (code := self.watch.end(signal.SIGTERM)) != 0:
            raise Broken(f"the watch ended with {code}")

    def missing(self) -> list[str]:
        contents = self.contents()
        return [name for content, name in self.watched.required.items() if content not in contents]

    def contents(self) -> set[bytes]:
        return {self.digest(path) for path in self.files()}

    def digest(self, path: Path) -> bytes:
        status = path.stat()
        version = (status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)
        if version not in self.digests:
            self.digests[version] = digest(path.read_bytes())
        return self.digests[version]

    def files(self) -> list[Path]:
        return [path for path in self.stored.rglob("*") if path.is_file() and ".transfer" not in path.parts]

    def rest(self) -> list[Path]:
        """Files that are still present although they should have been removed."""
        done = self.watched.path / "done"
        files = [path for path in self.watched.path.rglob("*") if path.is_file() and done not in path.parents]
        # A killed watch leaves a witness beside a source; the next removal in that directory removes the witness.
        return [path for path in files if path.suffix != TEMPORARY and not path.name.startswith(".transfer-witness-")]

    def examine(self) -> None:
        if missing := self.missing():
            raise Broken(f"the server does not have {len(missing)} files: {missing[:5]}")
        if self.mode != "stays" and (rest := self.rest()):
            raise Broken(f"{len(rest)} files were to go and are there: {rest[:5]}")
        self.examine_stored()
        self.examine_done()
        self.examine_lines()
        self.give_back()
        once = self.run_once()
        if once.returncode != 0 or once.stderr:
            raise Broken(f"--once afterwards ended with {once.returncode}: {once.stderr!r}")

    def give_back(self) -> None:
        """Follows the watch's advice for a file that a killed watch was removing: gives the file its name back, or a
        free name."""
        for path in list(self.watched.path.rglob(".transfer-witness-*")):
            if taken := TAKEN.fullmatch(path.name):
                place = path.with_name(taken[2])
                path.rename(path.with_name(f"{taken[1]} {taken[2]}") if os.path.lexists(place) else place)

    def run_once(self) -> subprocess.CompletedProcess[bytes]:
        return subprocess.run(
            [*self.watching, "--once", "--quiet"], cwd=self.folder, env={"HOME": str(self.folder)}, capture_output=True,
            timeout=PATIENCE, check=False,
        )  # fmt: skip

    def examine_stored(self) -> None:
        seen: dict[tuple[str, bytes], Path] = {}
        for path in self.files():
            content = self.digest(path)
            if content not in self.watched.whole and not self.is_beginning(path):
                raise Broken(f"{path} was never the whole of a file")
            plain = re.sub(r"-\d+(\.\w+)?$", r"\1", str(path))
            if (plain, content) in seen:
                raise Broken(f"{path} is there twice, as {seen[(plain, content)]}")
            seen[(plain, content)] = path

    def is_beginning(self, path: Path) -> bool:
        """Whether the file is the beginning of one whose writer has paused for too long."""
        content = path.read_bytes()
        return any(whole.startswith(content) for whole in self.watched.paused)

    def examine_done(self) -> None:
        contents = self.contents() | self.watched.late
        for path in (self.watched.path / "done").rglob("*"):
            if path.is_file() and self.digest(path) not in contents:
                raise Broken(f"{path} was moved and is not stored")

    def examine_lines(self) -> None:
        for line in self.watch.objects:
            if line["result"] in ("committed", "alreadyStored") and not (self.stored / str(line["storedPath"])).is_file():
                raise Broken(f"{line['storedPath']} was acknowledged and is not there")

    def close(self) -> None:
        self.watch.abandon()
        self.server.abandon()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seconds", type=float, default=3600, help="for which things happen (%(default)s)")
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 32), help="of what happens")
    parser.add_argument("--binary", default=".build/release/transfer", help="the program (%(default)s)")
    parser.add_argument("--keep", action="store_true", help="keep the directory when a promise was not kept")
    options = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="transfer-watch-"))
    hour = Hour(os.path.abspath(options.binary), options.seconds, options.seed, folder)
    kept = False
    try:
        hour.run()
        print(f"seed {options.seed}: {hour.mode}, {hour.watched.count} files, {len(hour.files())} stored, {hour.kills} blows")
        return 0
    except Broken as broken:
        kept = options.keep
        print(f"seed {options.seed}, {hour.mode}: {broken}" + (f"; see {folder}" if kept else ""), file=sys.stderr)
        return 1
    finally:
        hour.close()
        if not kept:
            shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
