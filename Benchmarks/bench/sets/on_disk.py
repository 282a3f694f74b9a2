"""Durable pushes to a real file system."""

from __future__ import annotations

from pathlib import Path

from .. import corpus, workspace
from ..context import Bench
from ..corpus import Corpus
from ..peers import Rsync, Transfer
from .common import (
    GIBIBYTE,
    SMALL_COUNT,
    SMALL_IN_DIRECTORY,
    SMALL_SIZE,
    Skipped,
    compare,
)


def disk_big(bench: Bench) -> None:
    """One large file."""
    disk = _disk(bench, 2 * GIBIBYTE)
    files = corpus.one_file(bench.source, GIBIBYTE)
    _compare(bench, "disk-big", "1 GiB of random bytes, one file", files, disk)


def disk_small(bench: Bench) -> None:
    """Many small files."""
    disk = _disk(bench, GIBIBYTE)
    files = corpus.small_files(bench.source, SMALL_COUNT, SMALL_SIZE, SMALL_IN_DIRECTORY)
    _compare(bench, "disk-small", "10,000 files of 4 KiB in 20 directories", files, disk)


def _disk(bench: Bench, needed: int) -> Path:
    if bench.disk is None:
        raise Skipped("there is no directory on a disk; --disk DIR names one")
    if workspace.free_bytes(bench.disk) < needed:
        raise Skipped("there is not enough room on the disk; --disk DIR names another one")
    return bench.disk


def _compare(bench: Bench, name: str, title: str, files: Corpus, disk: Path) -> None:
    place = bench.place(files, disk / "target")
    peers = [Rsync(place, ["--fsync"]), Transfer(place, bench.program)]
    compare(bench, name, f"{title}, durable, on {workspace.filesystem(disk)}", peers, settle_disk=True)
