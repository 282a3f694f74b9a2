"""Runs of several programs in turn: A B C, A B C, so that a machine whose speed drifts hurts all of them alike."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from functools import partial

from . import workspace
from .measure import Stopwatch
from .peers import Peer
from .processes import CommandFailed
from .results import Series
from .verify import difference

Say = Callable[[str], None]


def run_rounds(peers: Sequence[Peer], runs: int, say: Say, settle_disk: bool = False) -> list[Series]:
    """Pushes with every peer, `runs` times after a warm-up whose result is compared byte for byte.

    Who fails once is left out from then on, and its series says why. With `settle_disk`, everything is written to disk
    before each run, so that nobody pays for what an earlier one left behind.
    """
    series = [Series(peer.name, peer.promise) for peer in peers]
    for one, peer in zip(series, peers):
        _attempt(one, peer.prepare, say)
    for number in range(runs + 1):
        for one, peer in zip(series, peers):
            if one.failure is None:
                _attempt(one, partial(_run, one, peer, number == 0, settle_disk), say)
    return series


def _attempt(series: Series, action: Callable[[], None], say: Say) -> None:
    try:
        action()
    except CommandFailed as failure:
        series.failure = str(failure)
        series.samples.clear()
        say(f"  {series.name}: {failure}")


def _run(series: Series, peer: Peer, is_warm_up: bool, settle_disk: bool) -> None:
    workspace.empty(peer.place.target)
    peer.arm()
    if settle_disk:
        os.sync()
    with Stopwatch() as watch:
        peer.push()
    peer.disarm()
    if not is_warm_up:
        series.samples.append(watch.sample)
    elif found := difference(peer.place.corpus.root, peer.place.target):
        raise CommandFailed(found)
