"""The cost of a gigabyte, depending on the size of the files."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from .. import corpus, workspace
from ..context import Bench
from ..peers import Transfer
from ..results import Comparison, Table
from ..rounds import run_rounds

_MEGABYTE = 10**6
_GIGABYTE = 10**9

# Bytes to leave free on a file system. If the file system is in memory, the programs that are measured need these
# bytes.
_MARGIN = 4 << 30

# More runs of 20 GB add little information.
_MOST_RUNS = 3


@dataclass(frozen=True)
class _Size:
    """Files of one size, as many as a measurable time needs."""

    name: str
    size: int
    count: int

    @property
    def total(self) -> int:
        return self.size * self.count


_SIZES = [
    _Size("10 MB", 10 * _MEGABYTE, 100),
    _Size("100 MB", 100 * _MEGABYTE, 10),
    _Size("1 GB", _GIGABYTE, 1),
    _Size("5 GB", 5 * _GIGABYTE, 1),
    _Size("20 GB", 20 * _GIGABYTE, 1),
]


def sizes(bench: Bench) -> None:
    """Measures in memory and on disk, each with the sizes that fit on its file system (`_fitting`)."""
    _measure(bench, bench.directory)
    if bench.disk and bench.disk.stat().st_dev != bench.directory.stat().st_dev:
        _measure(bench, bench.disk)


def _measure(bench: Bench, directory: Path) -> None:
    where = workspace.filesystem(directory)
    fitting = _fitting(workspace.free_bytes(directory))
    bench.say(f"sizes: one gigabyte or more in files of {', '.join(size.name for size in fitting)}, on {where}")
    rows, costs = [], []
    for size, comparison in _run(bench, directory, fitting):
        series = comparison.series[0]
        if not series.samples:
            bench.add("sizes", comparison)
            continue
        cost = comparison.cpu_per_gigabyte(series.name)
        rate = comparison.throughput(series.name) / _MEGABYTE
        costs.append(cost)
        rows.append([size.name, str(size.count), f"{series.wall:.2f}", f"{rate:.0f}", f"{cost:.2f}"])
        bench.say(f"  {size.name:>7}{rate:8.0f} MB/s{cost:8.2f} CPU-s/GB")
    if len(costs) > 1:
        bench.results.figures[f"sizes.{where}"] = max(costs) / min(costs)
    notes = ["All files of one size are pushed together; there are so many of them that it can be timed."]
    notes += [f"{size.name} did not fit twice on {where}." for size in _SIZES if size not in fitting]
    header = ["size of a file", "files", "seconds", "MB/s", "CPU-s/GB"]
    bench.add("sizes", Table(f"Cost over the size of files, on {where}", header, rows, notes))
    for name in ("sizes", "target"):
        workspace.remove(directory / name)


def _fitting(free: int) -> list[_Size]:
    """The sizes of which all sources fit, together with a second copy of the largest set as its target."""
    fitting: list[_Size] = []
    for size in _SIZES:
        sources = sum(one.total for one in fitting) + size.total
        if sources + size.total + _MARGIN <= free:
            fitting.append(size)
    return fitting


def _run(bench: Bench, directory: Path, fitting: list[_Size]) -> list[tuple[_Size, Comparison]]:
    """Measures all sizes in turn."""
    peers = [_peer(bench, directory, size) for size in fitting]
    all_series = run_rounds(peers, min(bench.options.runs, _MOST_RUNS), bench.say, directory == bench.disk)
    return [
        (size, Comparison(f"{size.count} of {size.name}", size.count, size.total, [series]))
        for size, series in zip(fitting, all_series)
    ]


def _peer(bench: Bench, directory: Path, size: _Size) -> Transfer:
    files = corpus.equal_files(directory / "sizes" / size.name, size.count, size.size)
    return Transfer(bench.place(files, directory / "target"), bench.program, name=size.name)
