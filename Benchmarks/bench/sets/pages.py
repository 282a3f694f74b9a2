"""The page in Chromium: a large folder, many small files, one large file, and what dropping very many files costs."""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from .. import corpus, workspace
from ..browser import Window, obstacle, window
from ..context import Bench
from ..corpus import Corpus
from ..peers import Place
from ..peers.pages import Copyparty, PagePeer, TransferPage
from ..processes import CommandFailed
from ..results import Comparison, Table
from ..rounds import run_rounds
from .common import GIBIBYTE, SMALL_COUNT, SMALL_IN_DIRECTORY, SMALL_SIZE, Skipped

_ENTRIES = 5000
_OPENINGS = 9

# A page that takes minutes is not measured more often.
_MOST_RUNS = 3

_DROPPED, _DROPPED_SIZE = 20_000, 1024

# Seconds between two looks at the heap.
_LOOK = 0.25

_MEBIBYTE = 1 << 20


@contextmanager
def _opened(bench: Bench) -> Iterator[Window]:
    if reason := obstacle():
        raise Skipped(reason)
    try:
        with window(bench.directory / "browser", dict(os.environ)) as opened:
            yield opened
    except AssertionError as error:
        raise CommandFailed(f"the browser failed: {error}") from error


def _peers(bench: Bench, place: Place, opened: Window) -> list[PagePeer]:
    """The two servers; only this project's if the other cannot be installed."""
    own = TransferPage(place, opened, bench.program)
    try:
        Copyparty.program()
    except CommandFailed as failure:
        bench.say(f"  copyparty is left out: {failure}")
        return [own]
    return [own, Copyparty(place, opened)]


def page_open(bench: Bench) -> None:
    """The time until the first row of a folder of 5,000 entries is drawn."""
    bench.say(f"page-open: a folder of {_ENTRIES:,} entries")
    files = corpus.equal_files(bench.source, 1, 4)
    with _opened(bench) as opened:
        rows = []
        for peer in _peers(bench, bench.place(files), opened):
            workspace.empty(peer.place.target)
            folder = peer.store("many")
            for number in range(_ENTRIES):
                (folder / f"holiday-{number:05}.txt").write_bytes(b"4 KB")
            peer.arm()
            medians = []
            for keeps in (False, True):
                times = [opened.first_drawn(f"{peer.url}/many/", peer.row, keeps) for _ in range(_OPENINGS + 1)]
                # The first one warms the server up.
                medians.append(statistics.median(times[1:]))
            peer.disarm()
            rows.append([peer.name, *(f"{median:.0f}" for median in medians)])
            bench.say(f"  {peer.name:<42}{medians[0]:>8.0f} ms first visit{medians[1]:>8.0f} ms again")
            if isinstance(peer, TransferPage):
                bench.results.figures["page-open"] = medians[0]
    title = f"First row of a folder of {_ENTRIES:,} entries in Chromium, in ms"
    notes = [f"Medians of {_OPENINGS}, from the start of the navigation to the frame with the row."]
    bench.add("page-open", Table(title, ["server", "first visit", "again"], rows, notes))


def page_small(bench: Bench) -> None:
    """10,000 files of 4 KiB, dropped on the pages of both servers."""
    files = corpus.small_files(bench.source, SMALL_COUNT, SMALL_SIZE, SMALL_IN_DIRECTORY)
    _compare(bench, "page-small", f"{SMALL_COUNT:,} files of 4 KiB, dropped in Chromium", files)


def page_big(bench: Bench) -> None:
    """1 GiB, dropped on the pages of both servers."""
    _compare(bench, "page-big", "1 GiB, dropped in Chromium", corpus.one_file(bench.source, GIBIBYTE))


def _compare(bench: Bench, name: str, title: str, files: Corpus) -> None:
    bench.say(f"{name}: {title}")
    with _opened(bench) as opened:
        peers = _peers(bench, bench.place(files), opened)
        series = run_rounds(peers, min(bench.options.runs, _MOST_RUNS), bench.say, warms_up=False)
    for one in series:
        if one.samples:
            bench.say(f"  {one.name:<42}{one.wall:>8.2f} s{files.count / one.wall:>10.0f} files/s")
    bench.add(name, Comparison(title, files.count, files.size, series))


def page_drop(bench: Bench) -> None:
    """20,000 files, dropped at once: the page's heap, and the longest time in which it answers nothing."""
    bench.say(f"page-drop: {_DROPPED:,} files")
    files = corpus.small_files(bench.source, _DROPPED, _DROPPED_SIZE, SMALL_IN_DIRECTORY)
    with _opened(bench) as opened:
        peer = TransferPage(bench.place(files), opened, bench.program)
        workspace.empty(peer.place.target)
        peer.arm()
        before = opened.heap(collects=True)
        opened.watch_tasks()
        started = time.monotonic()
        peer.begin()
        most = _highest(opened.heap, lambda: bool(opened.run(f"return {peer.finished}")))
        taken = time.monotonic() - started
        tasks = opened.long_tasks()
        after = opened.heap(collects=True)
        peer.disarm()
    longest = max(tasks, default=0.0)
    bench.results.figures["page-drop.heap"] = most / _MEBIBYTE
    bench.results.figures["page-drop.task"] = longest
    rows = [
        ["heap of the empty folder", f"{before / _MEBIBYTE:.1f} MiB"],
        ["largest heap", f"{most / _MEBIBYTE:.1f} MiB"],
        ["heap afterwards", f"{after / _MEBIBYTE:.1f} MiB"],
        ["longest task", f"{longest:.0f} ms"],
        ["tasks longer than 50 ms", f"{len(tasks)}"],
        ["all stored after", f"{taken:.1f} s"],
    ]
    for what, figure in rows:
        bench.say(f"  {what:<42}{figure:>12}")
    bench.add("page-drop", Table(f"{_DROPPED:,} files of 1 KiB, dropped in Chromium", ["", ""], rows))


def _highest(look: Callable[[], int], ended: Callable[[], bool]) -> int:
    highest = look()
    while not ended():
        time.sleep(_LOOK)
        highest = max(highest, look())
    return highest
