"""Runs of several programs in turn: A B C, A B C, so that changes in the machine's speed affect all of them alike."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from functools import partial

from . import workspace
from .measure import Stopwatch
from .peers import Peer
from .processes import CommandFailed, TookTooLong
from .results import Series
from .verify import difference

Say = Callable[[str], None]


def run_rounds(
    peers: Sequence[Peer], runs: int, say: Say, settle_disk: bool = False, warms_up: bool = True
) -> list[Series]:
    """Pushes with every peer, `runs` times after a warm-up. The first result is compared byte for byte; without a
    warm-up, the first run counts, too.

    A peer that fails or takes too long once is ended and skipped from then on, and its series has the reason. With
    `settle_disk`, everything is written to disk before each run, so that no run pays for the writes of an earlier one.
    """
    series = [Series(peer.name, peer.promise) for peer in peers]
    for one, peer in zip(series, peers):
        attempt(one, peer, peer.prepare, say)
    for number in range(runs + 1 if warms_up else runs):
        for one, peer in zip(series, peers):
            if one.is_in:
                compares, counts = number == 0, number > 0 or not warms_up
                attempt(one, peer, partial(_run, one, peer, compares, counts, settle_disk), say)
    return series


def attempt(series: Series, peer: Peer, action: Callable[[], None], say: Say) -> None:
    """Performs an action with a peer. If the action fails or takes too long, the series gets the reason and loses its
    samples."""
    try:
        action()
        return
    except TookTooLong as late:
        series.over = late.limit
        say(f"  {series.name}: {late}")
    except CommandFailed as failure:
        series.failure = str(failure)
        say(f"  {series.name}: {failure}")
    series.samples.clear()
    peer.close()


def _run(series: Series, peer: Peer, compares: bool, counts: bool, settle_disk: bool) -> None:
    workspace.empty(peer.place.target)
    peer.arm()
    if settle_disk:
        os.sync()
    with Stopwatch() as watch:
        peer.push()
    peer.disarm()
    if counts:
        series.samples.append(watch.sample)
    if compares and (found := difference(peer.place.corpus.root, peer.place.target)):
        raise CommandFailed(found)
