"""Results as Markdown, and as lines for the terminal."""

from __future__ import annotations

from ..requirements import verdicts
from ..results import Comparison, Grid, Results, Section, Series, Table
from . import grids

_INTRODUCTION = """\
# Benchmarks

Written by `{command}`. [CONTRIBUTING.md](../CONTRIBUTING.md#benchmarks) says how to run it.

Each program pushes the same files, all programs in turn. Where nothing else is said, they go over loopback, and the
figures are medians of {runs} runs, after one that warms up and whose result is compared byte for byte. Only the client
is timed. CPU seconds are those of the whole machine: client, server and kernel. Compare figures of one table with each
other, not with those of another machine.
"""

_PROMISES = """\
*Success means* is what has been made sure of when the client ends with success. *Verified*: a digest of the whole
content was compared with what arrived. *Synced*: it is on disk, as far as the operating system can tell; where files
are in memory, that costs next to nothing.
"""


def page(results: Results, charts: list[tuple[str, str]]) -> str:
    """The whole report. Of each chart, the name of its file and what it shows."""
    parts = [_INTRODUCTION.format(command=results.command, runs=results.runs)]
    parts += [f"![{what}]({chart})\n" for chart, what in charts]
    parts.append(table(["machine", ""], [list(row) for row in results.machine]))
    parts.append("## Requirements\n")
    rows = [
        [verdict.requirement.text, verdict.requirement.limit, verdict.figure, verdict.word]
        for verdict in verdicts(results)
    ]
    parts.append(table(["requirement", "bound", "measured", ""], rows))
    parts.append("## Figures\n")
    parts.append(_PROMISES)
    parts += [_section(section) for sections in results.sections.values() for section in sections]
    parts += [f"Not measured: `{name}`: {reason}.\n" for name, reason in results.skipped.items()]
    return "\n".join(parts)


def table(header: list[str], rows: list[list[str]]) -> str:
    """A table in which all columns but the first are aligned to the right if their first value is a number."""
    lines = [header, [_alignment(rows, column) for column in range(len(header))], *rows]
    return "".join(f"| {' | '.join(cell.replace('|', '&#124;') for cell in line)} |\n" for line in lines)


def series_line(comparison: Comparison, series: Series) -> str:
    """What one program took, for the terminal."""
    name = series.name
    files = f"{comparison.files / series.wall:10,.0f} files/s" if comparison.files > 1 else ""
    return (
        f"{name:<42}{series.wall:8.2f} s{series.cpu:8.2f} CPU-s{comparison.throughput(name) / 1e6:8,.0f} MB/s"
        f"{comparison.cpu_per_gigabyte(name):8.2f} CPU-s/GB{files}"
    )


def _section(section: Section) -> str:
    body = _body(section)
    notes = "".join(f"\n{note}\n" for note in section.notes)
    return f"### {section.title}\n\n{body}{notes}"


def _body(section: Section) -> str:
    if isinstance(section, Table):
        return table(section.header, section.rows)
    if isinstance(section, Grid):
        return f"{table(grids.header(section), grids.rows(section))}\n{grids.promises(section)}\n"
    return _comparison(section)


def _comparison(comparison: Comparison) -> str:
    header = ["program", "success means", "seconds (fastest–slowest)", "CPU s", "MB/s"]
    if comparison.files > 1:
        header.append("files/s")
    header.append("CPU-s/GB")
    if comparison.shows_wire:
        header.append("bytes sent")
    return table(header, [_row(comparison, series, len(header)) for series in comparison.series])


def _row(comparison: Comparison, series: Series, width: int) -> list[str]:
    if not series.samples:
        return [series.name, "failed", *[""] * (width - 2)]
    low, high = series.range
    cells = [
        series.name,
        series.promise,
        f"{series.wall:.2f} ({low:.2f}–{high:.2f})",
        f"{series.cpu:.2f}",
        f"{comparison.throughput(series.name) / 1e6:,.0f}",
    ]
    if comparison.files > 1:
        cells.append(f"{comparison.files / series.wall:,.0f}")
    cells.append(f"{comparison.cpu_per_gigabyte(series.name):.2f}")
    if comparison.shows_wire:
        cells.append(f"{series.wire / comparison.size:.0%}")
    return cells


def _alignment(rows: list[list[str]], column: int) -> str:
    return "---:" if column > 0 and rows and rows[0][column][:1].isdigit() else "---"
