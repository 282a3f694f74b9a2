#!/usr/bin/env python3
"""Measures pulls beside pushes of the same files, in turn within one run.

usage: Benchmarks/pull.py [--transfer PATH] [--runs N] [--dir DIR]

Prints medians of wall time for each, in plaintext and with TLS. DIR is a directory in memory, /dev/shm by default, with
about 5 GiB free. Everything in it is removed at the end.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

BIG = 1 << 30
FILES, SIZE = 10_000, 4096
STARTED = "listening on "


class Bench:
    def __init__(self, program: str, directory: Path, encrypted: bool) -> None:
        self.program, self.directory = program, directory
        self.flags = [] if encrypted else ["--plaintext"]
        self.environment = dict(os.environ, XDG_CONFIG_HOME=str(directory / "home"))
        self.times: dict[str, list[float]] = {}

    def command(self, name: str, *arguments: str) -> None:
        started = time.monotonic()
        subprocess.run(
            [self.program, *arguments, "-q", *self.flags], env=self.environment, check=True, stdout=subprocess.DEVNULL
        )
        self.times.setdefault(name, []).append(time.monotonic() - started)

    def round(self) -> None:
        store, out = self.directory / "store", self.directory / "out"
        arguments = [self.program, "serve", "--dir", str(store), "--listen", "127.0.0.1:0", *self.flags]
        server = subprocess.Popen(
            arguments, env=self.environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        try:
            address = next(line.split(STARTED)[1].strip() for line in server.stderr or [] if STARTED in line)
            drain = subprocess.Popen(["cat"], stdin=server.stderr, stdout=subprocess.DEVNULL)
            for name, what in (("big", "1 GiB, one file"), ("small", "10,000 files of 4 KiB")):
                self.command(f"push {what}", "push", str(self.directory / name), "--to", address)
                self.command(f"pull {what}", "pull", name, "-o", f"{out}/", "--from", address)
                shutil.rmtree(out)
            self.command("list 10,000 files, long", "list", "small", "--long", "--from", address)
            self.command("remove 10,000 files", "remove", "-r", "small", "--from", address)
        finally:
            server.terminate()
            server.wait()
            drain.wait()
            shutil.rmtree(store, ignore_errors=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--transfer", default=".build/release/transfer")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--dir", default="/dev/shm")
    options = parser.parse_args()
    directory = Path(tempfile.mkdtemp(prefix="transfer-pull-", dir=options.dir))
    try:
        (directory / "small").mkdir()
        (directory / "home").mkdir()
        with open(directory / "big", "wb") as big:
            for _ in range(BIG >> 20):
                big.write(os.urandom(1 << 20))
        for number in range(FILES):
            (directory / "small" / f"{number:05}").write_bytes(os.urandom(SIZE))
        benches = [Bench(os.path.abspath(options.transfer), directory, encrypted) for encrypted in (False, True)]
        for _ in range(options.runs):
            for bench in benches:
                bench.round()
        for bench, name in zip(benches, ("plaintext", "TLS")):
            print(name)
            for what, times in bench.times.items():
                print(f"  {what:32} {statistics.median(times):.2f} s  ({min(times):.2f} to {max(times):.2f})")
    finally:
        shutil.rmtree(directory)


if __name__ == "__main__":
    main()
