"""The chart of all sets over loopback or to a disk: throughput relative to rsync, which can do all of the work."""

from __future__ import annotations

from .. import names
from ..results import Comparison, Missing, Results
from .chart import Bar, Chart, Group, Role

# The program with the value 1 in each comparison.
_BASELINES = {
    "big": names.RSYNC,
    "photos": names.RSYNC,
    "small": names.RSYNC,
    "text": names.RSYNC_Z,
    "disk-big": names.RSYNC_FSYNC,
    "disk-small": names.RSYNC_FSYNC,
}

# Sets in which the number of files matters more than their size.
_COUNTED_IN_FILES = {"small", "disk-small"}

# Sets of several works, each of which is a bar.
_GRIDS = ["trees", "trees-million"]


def comparison_chart(results: Results) -> Chart | None:
    """The chart, or None if no comparison was measured."""
    groups = [group for name in _BASELINES if (group := _group(name, results))]
    groups += [group for name in _GRIDS if (group := _grid_group(name, results))]
    if not groups:
        return None
    subtitle = f"How many times as fast as rsync (1×) in each group; longer is faster. Medians of {results.runs} runs."
    return Chart("Throughput, relative to rsync", subtitle, groups)


def _group(name: str, results: Results) -> Group | None:
    try:
        comparison = results.comparison(name)
        baseline = comparison.throughput(_BASELINES[name])
    except Missing:
        return None
    bars = []
    for series in comparison.series:
        if series.samples:
            value = comparison.throughput(series.name) / baseline
            figure = _figure(comparison, series.name, in_files=name in _COUNTED_IN_FILES)
            bars.append(Bar(series.name, value, figure, _role(series.name, _BASELINES[name])))
    return Group(comparison.title, bars)


def _grid_group(name: str, results: Results) -> Group | None:
    try:
        grid = results.grid(name)
    except Missing:
        return None
    bars = [bar for work in grid.works if (bar := _work(work))]
    return Group(f"{grid.title}: {names.TRANSFER_TLS}", bars) if bars else None


def _work(work: Comparison) -> Bar | None:
    try:
        own = work.named(names.TRANSFER_TLS).wall
        return Bar(work.title, work.named(names.RSYNC).wall / own, f"{own:.2f} s", Role.OWN)
    except Missing:
        return None


def _figure(comparison: Comparison, program: str, in_files: bool) -> str:
    if in_files:
        return f"{comparison.files / comparison.named(program).wall:,.0f} files/s"
    return f"{comparison.throughput(program) / 1e6:,.0f} MB/s"


def _role(program: str, baseline: str) -> Role:
    if program.startswith("transfer"):
        return Role.OWN
    return Role.BASELINE if program == baseline else Role.PEER
