"""Far links: the effects of distance, losses and both on each program."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from pathlib import Path

from .. import corpus, names, workspace
from ..context import Bench
from ..corpus import Corpus
from ..links import FarLink, build_emulator, far_link, obstacle
from ..peers import Nginx, Peer, Place, Rclone, Route, Rsync, Scp, Transfer
from ..processes import CommandFailed
from ..report.grids import seconds
from ..results import Comparison, Grid
from ..rounds import run_rounds
from .common import Skipped, medians

# A run of a slow program takes minutes here: more runs add little information, and no user waits longer than this
# limit. The four links take three quarters of an hour this way.
_MOST_RUNS = 1
_LIMIT = 45.0

# A push of a few round trips takes several more if a packet is lost, so one run of it means nothing, while many runs
# take only seconds.
_SHORT = 1 << 20
_SHORT_RUNS = 9

# Number of files that programs with an option for concurrent files send at once.
_AT_ONCE = 8

_LINKS = [
    FarLink("continent", megabits=100, round_trip=80, loss=0),
    FarLink("lossy", megabits=100, round_trip=80, loss=0.5),
    FarLink("mobile", megabits=20, round_trip=150, loss=1),
    FarLink("moon", megabits=50, round_trip=600, loss=0.1),
]

WORKS: dict[str, Callable[[Path], Corpus]] = {
    "one file of 4 KiB": partial(corpus.one_file, size=4096),
    names.FAR_PHOTOS: partial(corpus.photos, count=40, smallest=1_500_000, step=0),
    "2,000 files of 8 KiB": partial(corpus.small_files, count=2000, size=8192, in_directory=100),
    names.FAR_BIG: partial(corpus.one_file, size=60_000_000),
    "60 MB of log text": partial(corpus.log_text, parts=58),
}
"""The pushed files, and the functions that make them."""


def _measure(link: FarLink, bench: Bench) -> None:
    """Measures all works over one link."""
    if not bench.program.has_tls:
        raise Skipped("this build of transfer cannot encrypt")
    if os.geteuid() != 0:
        raise Skipped("a network namespace needs root")
    if reason := obstacle():
        raise Skipped(reason)
    bench.say(f"{names.far_set(link.name)}: {link}")
    grid = Grid(f"Far link {link.name}: {link}", [], line_rate=link.line_rate)
    emulator = build_emulator(bench.processes, bench.directory)
    try:
        with far_link(bench.processes, link, emulator) as route:
            for title, make in WORKS.items():
                grid.works.append(_push(bench, title, make, route))
    except CommandFailed as failure:
        raise Skipped(f"no far link could be made: {failure}") from failure
    grid.notes.append(_note(bench))
    bench.add(names.far_set(link.name), grid)


def _push(bench: Bench, title: str, make: Callable[[Path], Corpus], route: Route) -> Comparison:
    bench.say(f"  {title}")
    directory = bench.directory / "far"
    files = make(directory / "source")
    peers = _everybody(bench, directory, files, route)
    runs = _SHORT_RUNS if files.size < _SHORT else _runs(bench)
    series = run_rounds(peers, runs, bench.say, warms_up=False)
    work = Comparison(title, files.count, files.size, series)
    for one in series:
        bench.say(f"    {one.name:<42}{seconds(one)} s")
    for peer in peers:
        peer.close()
    workspace.remove(directory)
    return work


def _everybody(bench: Bench, directory: Path, files: Corpus, route: Route) -> list[Peer]:
    def place(name: str) -> Place:
        # Each program has its own target, because bytes that are still in the network when a program is ended may be
        # stored later.
        target, scratch = directory / f"target-{name}", directory / "servers"
        for path in (target, scratch):
            path.mkdir(exist_ok=True)
        return Place(bench.processes, scratch, files, target, route, _LIMIT)

    peers: list[Peer] = [
        Transfer(place("transfer"), bench.program, tls=True),
        Rsync(place("rsync")),
        Nginx(place("nginx"), tls=True, at_once=_AT_ONCE),
    ]
    if Rclone.is_there():
        peers.append(Rclone(place("rclone"), _AT_ONCE))
    peers.append(Scp(place("scp")))
    return peers


def _runs(bench: Bench) -> int:
    return min(bench.options.runs, _MOST_RUNS)


def _note(bench: Bench) -> str:
    rclone = "" if Rclone.is_there() else " rclone is not installed here."
    return (
        f"Links are emulated between two network namespaces. {medians(_runs(bench))} without a warm-up, medians of "
        f"{_SHORT_RUNS} for the one short file. A program that has not ended after {_LIMIT:g} s is ended. rsync and rclone send in plaintext.{rclone}"
    )


FAR_SETS: dict[str, Callable[[Bench], None]] = {names.far_set(link.name): partial(_measure, link) for link in _LINKS}
"""The sets by name, one for each link."""
