"""Steps that several sets have in common."""

from __future__ import annotations

from collections.abc import Sequence

from ..context import Bench
from ..peers import Peer
from ..report.markdown import series_line
from ..results import Comparison
from ..rounds import run_rounds

# Number of files of 4 KiB in one directory.
SMALL_IN_DIRECTORY = 500
SMALL_SIZE = 4096
SMALL_COUNT = 10_000

GIBIBYTE = 1 << 30


class Skipped(Exception):
    """A set cannot be measured here; the message says why."""


def medians(runs: int) -> str:
    """The kind of the figures of a set, for the start of a sentence."""
    return f"Medians of {runs} runs" if runs > 1 else "One run"


def compare(
    bench: Bench,
    name: str,
    title: str,
    peers: Sequence[Peer],
    settle_disk: bool = False,
    shows_wire: bool = False,
) -> Comparison:
    """Runs all peers in turn on the corpus of their place and adds their measurements to the results."""
    corpus = peers[0].place.corpus
    bench.say(f"{name}: {title}")
    series = run_rounds(peers, bench.options.runs, bench.say, settle_disk)
    comparison = Comparison(title, corpus.count, corpus.size, series, shows_wire=shows_wire)
    for one in series:
        if one.samples:
            bench.say(f"  {series_line(comparison, one)}")
    bench.add(name, comparison)
    return comparison
