#!/usr/bin/env python3
"""Measures mailboxes: one picture to many people, and many deliveries to one.

usage: Benchmarks/mail.py [--transfer PATH] [--people N] [--deliveries N] [--runs N] [--dir DIR]

Prints how long a push to all people takes and how much the server stores for it. Also prints medians of a `receive` of all
deliveries and of a `pull` of the same files, in turn within each run. All transfers use TLS and are durable. DIR is a
directory in memory, /dev/shm by default.
"""

from __future__ import annotations

import argparse
import base64
import os
import shutil
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

STARTED = "listening on "
PICTURE, SIZE = 2 << 20, 4096


class Bench:
    def __init__(self, program: str, directory: Path, people: int) -> None:
        self.program, self.directory, self.people = program, directory, people
        self.store = directory / "store"
        keys = [f"{self.command('bob', 'key').split()[0]} {self.command('bob', 'key').split()[1]} bob"]
        keys += [f"{' '.join(self.command('alice', 'key').split()[:2])} alice"]
        # A recipient that never connects does not need a working key.
        keys += [f"ed25519 {base64.b64encode(os.urandom(32)).decode()} p{number:04}" for number in range(people)]
        folder = self.store / ".transfer"
        folder.mkdir(parents=True, mode=0o700)
        (folder / "authorized_keys").write_text("".join(f"{key}\n" for key in keys))
        (folder / "authorized_keys").chmod(0o600)

    def environment(self, who: str) -> dict[str, str]:
        environment = {key: value for key, value in os.environ.items() if not key.startswith(("TRANSFER_", "XDG_"))}
        return environment | {"HOME": str(self.directory / who), "XDG_CONFIG_HOME": str(self.directory / who / "home")}

    def command(self, who: str, *arguments: str) -> str:
        (self.directory / who / "home").mkdir(parents=True, exist_ok=True)
        return subprocess.run(
            [self.program, *arguments], env=self.environment(who), check=True, stdout=subprocess.PIPE, text=True).stdout

    def timed(self, who: str, *arguments: str) -> float:
        started = time.monotonic()
        self.command(who, *arguments)
        return time.monotonic() - started

    def serve(self) -> None:
        arguments = [self.program, "serve", "--dir", str(self.store), "--listen", "127.0.0.1:0"]
        self.server = subprocess.Popen(
            arguments, env=self.environment("server"), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        line = next(line for line in self.server.stderr or [] if STARTED in line)
        self.address = line.split(STARTED)[1].strip()
        self.drain = subprocess.Popen(["cat"], stdin=self.server.stderr, stdout=subprocess.DEVNULL)

    def stop(self) -> None:
        self.server.terminate()
        self.server.wait()
        self.drain.wait()

    def to(self, *arguments: str) -> list[str]:
        return [*arguments, "--to", self.address, "-q"]

    def stored(self) -> int:
        return sum(path.stat().st_size for path in (self.store / ".transfer" / "mail").iterdir())

    def many_people(self) -> None:
        picture = self.directory / "photo.png"
        picture.write_bytes(b"\x89PNG\r\n\x1a\n" + os.urandom(PICTURE - 8))
        names = ",".join(f"p{number:04}" for number in range(self.people))
        seconds = self.timed("alice", *self.to("push", str(picture), "--for", names, "--trust-new"))
        again = self.timed("alice", *self.to("push", str(picture), "--for", names))
        print(f"{PICTURE >> 20} MiB to {self.people} people: {seconds:.2f} s, once more {again:.2f} s; "
              f"{self.stored()} bytes are stored")

    def many_deliveries(self, count: int, runs: int) -> None:
        files = self.directory / "files"
        files.mkdir()
        for number in range(count):
            (files / f"{number:05}.bin").write_bytes(os.urandom(SIZE))
        self.command("bob", *self.to("whoami", "--trust-new"))
        self.command("alice", *self.to("push", str(files)))
        times: dict[str, list[float]] = {"push --for": [], "receive": [], "pull": []}
        for run in range(runs):
            # New modification times make the files look different from those of the run before.
            for path in files.iterdir():
                os.utime(path, (run, run))
            times["push --for"].append(self.timed("alice", *self.to("push", str(files), "--for", "bob")))
            for name, arguments in (("receive", ["receive", str(self.directory / "out")]),
                                    ("pull", ["pull", "files", "-o", str(self.directory / "out2")])):
                flag = "--to" if name == "receive" else "--from"
                times[name].append(self.timed("bob", *arguments, flag, self.address, "-q"))
            for out in ("out", "out2"):
                found = sum(1 for path in (self.directory / out).rglob("*.bin") if path.stat().st_size == SIZE)
                assert found == count, f"{found} files of {count} are there"
                shutil.rmtree(self.directory / out)
        for name, values in times.items():
            print(f"{count} files of {SIZE} bytes, {name}: {statistics.median(values):.2f} s")
        ratio = statistics.median(times["pull"]) / statistics.median(times["receive"])
        print(f"receive has {ratio:.2f} of the speed of pull")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--transfer", default=".build/release/transfer")
    parser.add_argument("--people", type=int, default=1000)
    parser.add_argument("--deliveries", type=int, default=10_000)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--dir", default="/dev/shm")
    options = parser.parse_args()
    directory = Path(tempfile.mkdtemp(prefix="transfer-mail-", dir=options.dir))
    bench = Bench(os.path.abspath(options.transfer), directory, options.people)
    bench.serve()
    try:
        bench.many_people()
        bench.many_deliveries(options.deliveries, options.runs)
    finally:
        bench.stop()
        shutil.rmtree(directory, ignore_errors=True)


if __name__ == "__main__":
    main()
