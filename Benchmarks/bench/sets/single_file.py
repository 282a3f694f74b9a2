"""One small file: the cost of a whole client, from its start to its end."""

from __future__ import annotations

import statistics

from .. import corpus
from ..context import Bench
from ..measure import Stopwatch
from ..peers import Nginx, Transfer
from ..results import Table

_REPETITIONS = 50


def single(bench: Bench) -> None:
    """One file of 4 KiB, pushed repeatedly under new names."""
    file = corpus.one_file(bench.source, 4096)
    place = bench.place(file)
    peers: list[Nginx | Transfer] = [Nginx(place), Transfer(place, bench.program)]
    if bench.program.has_tls:
        # All servers run at the same time, and two servers of this project cannot share a directory.
        secured = bench.place(file, bench.directory / "target-tls")
        peers += [Nginx(secured, tls=True), Transfer(secured, bench.program, tls=True)]
    bench.say("single: one file of 4 KiB")
    walls = _measure(peers)
    rows = [
        [peer.name, f"{_milliseconds(statistics.median(times))}", f"{_milliseconds(_ninth_decile(times))}"]
        for peer, times in zip(peers, walls)
    ]
    for row in rows:
        bench.say(f"  {row[0]:<42}{row[1]:>8} ms")
    header = ["client", "ms, median", "ms, 90th percentile"]
    notes = [f"{_REPETITIONS} pushes each, in turn, each by a new client."]
    bench.add("single", Table("One file of 4 KiB, from the start of the client to its end", header, rows, notes))
    bench.results.figures["single.curl"] = statistics.median(walls[0])
    bench.results.figures["single.transfer"] = statistics.median(walls[1])


def _measure(peers: list[Nginx | Transfer]) -> list[list[float]]:
    for peer in peers:
        peer.prepare()
        peer.arm()
    walls: list[list[float]] = [[] for _ in peers]
    for number in range(_REPETITIONS + 1):
        for peer, times in zip(peers, walls):
            with Stopwatch() as watch:
                peer.push_one(peer.place.corpus.files[0], f"{type(peer).__name__}-{number}.bin")
            # The first push warms up.
            if number > 0:
                times.append(watch.sample.wall)
    for peer in peers:
        peer.disarm()
    return walls


def _ninth_decile(times: list[float]) -> float:
    return statistics.quantiles(times, n=10)[-1]


def _milliseconds(seconds: float) -> str:
    return f"{seconds * 1000:.1f}"
