#!/usr/bin/env python3
"""Measures the cost of a trash when files are overwritten: pushes that replace small and large files, with and without a
trash, in turn within one run.

usage: Benchmarks/trash.py [--transfer PATH] [--small N] [--large N] [--runs N] [--dir DIR]

Prints medians of wall time. DIR should be on a disk: in memory nothing is synced.
"""

from __future__ import annotations

import argparse
import random
import shutil
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

STARTED = "listening on "
SMALL, LARGE = 4_000, 16 << 20


def make_files(top: Path, count: int, size: int, source: random.Random) -> None:
    """Content and sizes differ in each run, so that no file is stored already and none is compared."""
    for number in range(count):
        folder = top / f"d{number % 20}"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"f{number}").write_bytes(source.randbytes(size + source.randint(0, 500)))


class Server:
    def __init__(self, program: str, directory: Path, flag: str) -> None:
        arguments = [program, "serve", "--dir", str(directory), "--listen", "127.0.0.1:0", "--plaintext", flag]
        self.process = subprocess.Popen(arguments, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        self.address = next(line.split(STARTED)[1].strip() for line in self.process.stderr or [] if STARTED in line)
        self.drain = subprocess.Popen(["cat"], stdin=self.process.stderr, stdout=subprocess.DEVNULL)

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait()
        self.drain.wait()


def push(program: str, source: Path, server: Server) -> float:
    started = time.monotonic()
    subprocess.run(
        (program, "push", "-q", "--plaintext", "--on-conflict", "overwrite", "--to", server.address, str(source)), check=True,
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return time.monotonic() - started


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--transfer", default=".build/release/transfer")
    parser.add_argument("--small", type=int, default=2_000)
    parser.add_argument("--large", type=int, default=20)
    parser.add_argument("--runs", type=int, default=7)
    parser.add_argument("--dir", type=Path)
    options = parser.parse_args()
    source, times = random.Random(1), {}
    top = Path(tempfile.mkdtemp(prefix="transfer-trash-", dir=options.dir))
    flags = ("--trash", "--no-trash")
    servers = {flag: Server(options.transfer, top / flag[2:], flag) for flag in flags}
    try:
        for run in range(options.runs + 1):
            for name, count, size in (("small", options.small, SMALL), ("large", options.large, LARGE)):
                files = top / name
                shutil.rmtree(files, ignore_errors=True)
                make_files(files, count, size, source)
                # The first program pays for the writes that are pending in the page cache, so the order alternates.
                for flag in flags if run % 2 else reversed(flags):
                    seconds = push(options.transfer, files, servers[flag])
                    # The first run replaces nothing.
                    if run:
                        times.setdefault((name, flag), []).append(seconds)
            for name in ("trash", "no-trash"):
                shutil.rmtree(top / name / ".transfer" / "trash", ignore_errors=True)
    finally:
        for server in servers.values():
            server.stop()
        shutil.rmtree(top, ignore_errors=True)
    for (name, flag), found in times.items():
        print(f"{name:6} {flag:11} median {statistics.median(found):7.3f} s  least {min(found):7.3f} s  of {len(found)}")


if __name__ == "__main__":
    main()
