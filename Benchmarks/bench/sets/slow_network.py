"""A slow network: the benefit of compression."""

from __future__ import annotations

import os

from .. import corpus
from ..context import Bench
from ..corpus import Corpus
from ..links import slow_link
from ..peers import Peer, Route, Transfer
from ..processes import CommandFailed
from .common import Skipped, compare

_RATE = "100mbit"

# The number of bytes of the text.
_RANDOM_SIZE = 265_000_000


def network(bench: Bench) -> None:
    """Text and random bytes, with every compression that the program knows."""
    if os.geteuid() != 0:
        raise Skipped("a network namespace needs root")
    try:
        with slow_link(bench.processes, _RATE) as route:
            _measure(bench, "text", corpus.log_text(bench.source / "text"), route)
            _measure(bench, "random", corpus.one_file(bench.source / "random", _RANDOM_SIZE), route)
    except CommandFailed as failure:
        raise Skipped(f"no slow link could be made: {failure}") from failure


def _measure(bench: Bench, kind: str, files: Corpus, route: Route) -> None:
    place = bench.place(files, route=route)

    def peer(*options: str, name: str | None = None) -> Peer:
        return Transfer(place, bench.program, options, name=name)

    methods = bench.program.choices("push", "compress")
    peers = [peer("--compress", method) for method in methods if method != "auto"]
    if "auto" in methods:
        peers.append(peer(name="transfer, plaintext"))
    what = {"text": "265 MB of log text", "random": "265 MB of random bytes"}[kind]
    compare(bench, f"network-{kind}", f"{what} over a link of 100 Mbit/s", peers)
