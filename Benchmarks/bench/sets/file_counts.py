"""Files per second, depending on the number of files."""

from __future__ import annotations

from .. import corpus
from ..context import Bench
from ..peers import Transfer
from ..results import Comparison, Series, Table
from ..rounds import run_rounds

_COUNTS = [1_000, 10_000, 50_000, 200_000]
_SIZE = 1024
_IN_DIRECTORY = 1000

# Small sets are pushed repeatedly in each round, up to this number of files.
_FILES_A_ROUND = 10_000


def counts(bench: Bench) -> None:
    """Measures files of 1 KiB."""
    bench.say(f"counts: {', '.join(f'{count:,}' for count in _COUNTS)} files of 1 KiB")
    start, rows, rates = 0.0, [], []
    for count, series in _run(bench):
        if not series.samples:
            bench.add("counts", Comparison(f"{count:,} files", count, count * _SIZE, [series]))
            continue
        if count == 1:
            start = series.wall
            continue
        net = (count - 1) / (series.wall - start)
        rates.append(net)
        rows.append([f"{count:,}", f"{series.wall:.3f}", f"{count / series.wall:,.0f}", f"{net:,.0f}"])
        bench.say(f"  {count:>8,}{count / series.wall:10,.0f} files/s{net:10,.0f} files/s without the start")
    if len(rates) > 1:
        bench.results.figures["counts"] = max(rates) / min(rates)
    header = ["files", "seconds", "files/s", "files/s without the start"]
    note = (
        f"A push of one file takes {start * 1000:.1f} ms, most of it to start the client. The last column leaves that "
        "out."
    )
    bench.add("counts", Table("Speed over the number of files of 1 KiB", header, rows, [note]))


def _run(bench: Bench) -> list[tuple[int, Series]]:
    """Measures all counts in turn, and a single file."""
    peers, wanted = [], []
    for count in [1, *_COUNTS]:
        files = corpus.small_files(bench.source / str(count), count, _SIZE, _IN_DIRECTORY)
        peer = Transfer(bench.place(files), bench.program, name=f"{count:,} files")
        repetitions = max(1, min(10, _FILES_A_ROUND // count))
        peers += [peer] * repetitions
        wanted += [count] * repetitions
    merged: dict[int, Series] = {}
    for count, series in zip(wanted, run_rounds(peers, bench.options.runs, bench.say)):
        first = merged.setdefault(count, series)
        if first is not series:
            first.samples += series.samples
            first.failure = first.failure or series.failure
    return list(merged.items())
