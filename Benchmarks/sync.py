#!/usr/bin/env python3
"""Measures syncs of a tree with all kinds of entries beside rsync, in turn within one run. rsync checks the results.

usage: Benchmarks/sync.py [--transfer PATH] [--files N] [--runs N] [--dir DIR]

Prints medians of wall time. Exits with 1 if rsync -aHXn --checksum finds any difference between the tree, its copy on the
server and the copy that was fetched back. DIR should be on a disk: file systems in memory may have no extended attributes.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

STARTED = "listening on "
SIZES = (0, 1, 10, 100, 1_000, 5_000, 20_000)
JUDGE = ("rsync", "-aHXn", "--checksum", "--itemize-changes", "--delete")


def make_tree(top: Path, files: int, source: random.Random) -> None:
    """Files, empty folders, symbolic and hard links, extended attributes, permissions and times."""
    folders = [top]
    top.mkdir()
    for number in range(files // 25):
        folder = source.choice(folders[-200:]) / f"folder {number} é"
        folder.mkdir()
        folders.append(folder)
    made: list[Path] = []
    for number in range(files):
        place = source.choice(folders) / f"f{number}"
        kind = source.random()
        if kind < 0.9 or not made:
            make_file(place, source)
            made.append(place)
        elif kind < 0.95:
            place.symlink_to(source.choice(["f1", "../x", "/etc/passwd", ".", "é" * 20]))
        elif kind < 0.98:
            os.link(source.choice(made), place)
        else:
            place.mkdir(mode=source.choice([0o755, 0o700, 0o750]))
    for folder in reversed(folders):
        set_time(folder, source)


def make_file(place: Path, source: random.Random) -> None:
    place.write_bytes(source.randbytes(source.choice(SIZES)))
    place.chmod(source.choice([0o644, 0o600, 0o755, 0o444, 0o664]))
    if source.random() < 0.02:
        # The file may have permissions without write access.
        mode = place.stat().st_mode
        place.chmod(0o600)
        os.setxattr(place, f"user.k{source.randint(0, 3)}", source.randbytes(source.randint(0, 50)))
        place.chmod(mode)
    set_time(place, source)


def set_time(place: Path, source: random.Random) -> None:
    moment = source.randint(1, 2 * 10**9) * 10**9 + source.randint(0, 999_999_999)
    os.utime(place, ns=(moment, moment))


class Bench:
    def __init__(self, program: str, directory: Path) -> None:
        self.program, self.directory = program, directory
        self.environment = dict(os.environ, XDG_CONFIG_HOME=str(directory / "home"))
        self.times: dict[str, list[float]] = {}
        self.differences: list[str] = []

    def measure(self, name: str, *command: str) -> None:
        started = time.monotonic()
        subprocess.run(command, env=self.environment, check=True, stdout=subprocess.DEVNULL)
        self.times.setdefault(name, []).append(time.monotonic() - started)

    def judge(self, one: Path, other: Path) -> None:
        found = subprocess.run([*JUDGE, f"{one}/", f"{other}/"], check=True, capture_output=True, text=True).stdout
        self.differences += found.splitlines()

    def round(self) -> None:
        tree, store, back, copy = (self.directory / name for name in ("tree", "store", "back", "copy"))
        sync = (self.program, "sync", "-q", "--plaintext")
        arguments = [self.program, "serve", "--dir", str(store), "--listen", "127.0.0.1:0", "--plaintext"]
        server = subprocess.Popen(
            arguments, env=self.environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        try:
            address = next(line.split(STARTED)[1].strip() for line in server.stderr or [] if STARTED in line)
            drain = subprocess.Popen(["cat"], stdin=server.stderr, stdout=subprocess.DEVNULL)
            for what in ("first", "again, nothing changed"):
                self.measure(f"sync to the server, {what}", *sync, f"{tree}/", f"{address}:/tree")
            for what in ("first", "again, nothing changed"):
                self.measure(f"sync from the server, {what}", *sync, f"{address}:/tree/", str(back))
            self.measure("check --checksum", self.program, "check", "--checksum", "-q", "--plaintext", f"{tree}/",
                         f"{address}:/tree")
            for what in ("first", "again, nothing changed"):
                self.measure(f"rsync -aHX, {what}", "rsync", "-aHX", f"{tree}/", f"{copy}/")
            self.judge(tree, store / "tree")
            self.judge(tree, back)
        finally:
            server.terminate()
            server.wait()
            drain.wait()
            for place in (store, back, copy):
                shutil.rmtree(place, ignore_errors=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--transfer", default=".build/release/transfer")
    parser.add_argument("--files", type=int, default=50_000)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--dir", default=None)
    options = parser.parse_args()
    directory = Path(tempfile.mkdtemp(prefix="transfer-sync-", dir=options.dir))
    try:
        make_tree(directory / "tree", options.files, random.Random(1))
        bench = Bench(os.path.abspath(options.transfer), directory)
        for _ in range(options.runs):
            bench.round()
        for what, times in bench.times.items():
            print(f"{what:44} {statistics.median(times):.2f} s  ({min(times):.2f} to {max(times):.2f})")
        for line in bench.differences[:20]:
            print(f"rsync sees a difference: {line}")
        return 1 if bench.differences else 0
    finally:
        shutil.rmtree(directory, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
