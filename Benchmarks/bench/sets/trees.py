"""Large trees of small files: pushed, pushed again, changed, pulled, and pulled again."""

from __future__ import annotations

from pathlib import Path

from .. import corpus, names, workspace
from ..context import Bench
from ..corpus import Corpus
from ..peers import Rsync, Transfer
from ..report.grids import seconds
from ..resident import Peaks
from ..results import Comparison, Grid, Table
from ..steps import STEPS, Course, run_courses
from .common import Skipped, medians

_COUNT = 100_000
_MILLION = 1_000_000
_SIZE = 1024
_IN_DIRECTORY = 500

# Number of runs with a million files, which take so long that there is no warm-up.
_MOST_RUNS_OF_MILLION = 3

# Space for a file: a page of memory or a block on disk, an inode, its name, and the server's log and catalog entries.
_ROOM_FOR_FILE = 6 << 10

# The source, the files on the server, and the pulled files.
_COPIES = 3


def trees(bench: Bench) -> None:
    """Measures 100,000 files."""
    _check(bench, _COUNT)
    runs = bench.options.runs
    _measure(bench, "trees", _COUNT, runs)


def trees_million(bench: Bench) -> None:
    """Measures 1,000,000 files, and the memory use for them."""
    _check(bench, _MILLION)
    runs = min(bench.options.runs, _MOST_RUNS_OF_MILLION)
    note = f"{medians(runs)} without a warm-up. The first result is compared byte for byte."
    peaks = Peaks(bench.directory / "client-memory")
    _measure(bench, "trees-million", _MILLION, runs, note, peaks)
    rows = [[step, f"{server:,}", f"{client:,}"] for step, (server, client) in peaks.found.items()]
    for step, server, client in rows:
        bench.say(f"  {step:<42}{server:>12} KiB server{client:>12} KiB client")
    title = f"Maximum resident memory with {_MILLION:,} files of 1 KiB, in KiB"
    notes = [f"Of {names.TRANSFER_TLS}, in any of the runs. The same server does all steps of a run."]
    bench.add("trees-million", Table(title, ["work", "server", "client"], rows, notes))


def lack_of_room(count: int, free_bytes: int, free_files: int) -> str | None:
    """The reason why a set of `count` files cannot be measured with this free space, or None if it can."""
    # Directories and other files need some more space.
    files, room = count * _COPIES + count // 100, count * _COPIES * _ROOM_FOR_FILE
    if free_files < files:
        return f"there is room for {free_files:,} files, and it takes {files:,}; --dir DIR names another place"
    if free_bytes < room:
        return f"there are {free_bytes / 1e9:.1f} GB free, and it takes {room / 1e9:.1f}; --dir DIR names another place"
    return None


def _check(bench: Bench, count: int) -> None:
    if not bench.program.has_tls:
        raise Skipped("this build of transfer cannot encrypt")
    where = bench.directory
    if reason := lack_of_room(count, workspace.free_bytes(where), workspace.free_files(where)):
        raise Skipped(reason)


def _measure(bench: Bench, name: str, count: int, runs: int, note: str | None = None, peaks: Peaks | None = None) -> None:
    title = f"{count:,} files of 1 KiB in {count // _IN_DIRECTORY:,} directories"
    bench.say(f"{name}: {title}")
    tree, output = bench.source / "tree", bench.directory / "output"
    corpus.small_files(tree, count, _SIZE, _IN_DIRECTORY)
    output.mkdir()
    courses = _courses(bench, output, peaks)
    run_courses(courses, tree, runs, bench.say, warms_up=peaks is None)
    where = f"On {workspace.filesystem(bench.directory)}. rsync sends in plaintext."
    grid = Grid(title, [], [note, where] if note else [where])
    for step in STEPS:
        grid.works.append(Comparison(step, count, count * _SIZE, [course.series[step] for course in courses]))
        bench.say(f"  {step}")
        for course in courses:
            bench.say(f"    {course.peer.name:<40}{seconds(course.series[step])} s")
    bench.add(name, grid)


def _courses(bench: Bench, output: Path, peaks: Peaks | None) -> list[Course]:
    place = bench.place(Corpus(bench.source))
    watched = peaks.client_in if peaks else []
    overwriting = ["--on-conflict", "overwrite"]
    own = Transfer(place, bench.program, overwriting, names.TRANSFER_TLS, tls=True, client_in=watched)
    return [Course(own, output, peaks), Course(Rsync(place), output)]
