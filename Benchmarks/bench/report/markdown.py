"""Results as Markdown, and as lines for the terminal."""

from __future__ import annotations

from itertools import groupby

from .. import names
from ..requirements import verdicts
from ..results import Comparison, Grid, Results, Section, Series, Table
from . import grids

_INTRODUCTION = """\
# Benchmarks

Written by `{command}`. [CONTRIBUTING.md](../CONTRIBUTING.md#benchmarks) says how to run it.

All programs push the same files in turn, over loopback unless a heading names a link. Figures are medians of {runs}
runs after a warm-up, whose result is compared byte for byte. Compare figures of one table only.
"""

_LEGEND = """\
Cells are seconds of the client, and CPU seconds of the whole machine. *Verified*: the digest of the whole content was
compared with what arrived. *Synced*: it is on disk. *Lead*: the speed of {transfer} relative to the fastest other
program.
"""


def page(results: Results, charts: list[tuple[str, str]]) -> str:
    """The whole report. Charts are pairs: the name of a file, and a description."""
    parts = [_INTRODUCTION.format(command=results.command, runs=results.runs)]
    parts += [f"![{what}]({chart})\n" for chart, what in charts]
    parts.append(table(["machine", ""], [list(row) for row in results.machine]))
    parts.append(_requirements(results))
    parts.append("## Figures\n")
    parts.append(_LEGEND.format(transfer=names.TRANSFER_TLS))
    parts.append(_promises(results))
    sections = [section for sections in results.sections.values() for section in sections]
    parts += [_together(list(group)) for _, group in groupby(sections, _likeness)]
    parts += [f"Not measured: `{name}`: {reason}.\n" for name, reason in results.skipped.items()]
    return "\n".join(parts)


def _requirements(results: Results) -> str:
    """The number of bounds that the run kept, and the bounds that it missed."""
    measured = [verdict for verdict in verdicts(results) if verdict.measured is not None]
    missed = [verdict for verdict in measured if not verdict.passed]
    count = f"{len(measured) - len(missed)} of {len(measured)} bounds that this run measured are kept."
    rows = [[verdict.requirement.text, verdict.requirement.limit, verdict.figure] for verdict in missed]
    missing = "\n" + table(["missed", "bound", "measured"], rows) if rows else ""
    return f"## Requirements\n\n{count}\n{missing}"


def table(header: list[str], rows: list[list[str]]) -> str:
    """A table. A column after the first is aligned to the right if its first non-empty value is a number."""
    lines = [header, [_alignment(rows, column) for column in range(len(header))], *rows]
    return "".join(f"|{'|'.join(cell.replace('|', '&#124;') for cell in line)}|\n" for line in lines)


def series_line(comparison: Comparison, series: Series) -> str:
    """The result of one program, for the terminal."""
    name = series.name
    files = f"{comparison.files / series.wall:10,.0f} files/s" if comparison.files > 1 else ""
    return (
        f"{name:<42}{series.wall:8.2f} s{series.cpu:8.2f} CPU-s{comparison.throughput(name) / 1e6:8,.0f} MB/s"
        f"{comparison.cpu_per_gigabyte(name):8.2f} CPU-s/GB{files}"
    )


def _promises(results: Results) -> str:
    """The meaning of the success of each program."""
    programs: dict[str, list[str]] = {}
    for series in results.series():
        if series.name not in programs.setdefault(series.promise, []):
            programs[series.promise].append(series.name)
    return table(["success means", "programs"], [[promise, "; ".join(found)] for promise, found in programs.items()])


def _likeness(section: Section) -> object:
    """A key for sections: sections with equal keys share a table."""
    if isinstance(section, Comparison):
        return tuple(series.name for series in section.series), section.shows_wire
    return tuple(grids.header(section)) if isinstance(section, Grid) else id(section)


def _together(sections: list[Section]) -> str:
    notes = "".join(f"\n{note}\n" for note in dict.fromkeys(note for section in sections for note in section.notes))
    first = sections[0]
    if isinstance(first, Comparison):
        return _comparisons([section for section in sections if isinstance(section, Comparison)]) + notes
    if isinstance(first, Grid):
        return _grids([section for section in sections if isinstance(section, Grid)]) + notes
    return f"### {first.title}\n\n{table(first.header, first.rows)}{notes}"


def _grids(sections: list[Grid]) -> str:
    """One table; with several grids, the title of each stands above its rows."""
    header = grids.header(sections[0])
    rows = []
    for grid in sections:
        if len(sections) > 1:
            rows.append([f"**{grid.title}**", *[""] * (len(header) - 1)])
        rows += grids.rows(grid)
    title = sections[0].title if len(sections) == 1 else f"{len(sections)} networks"
    return f"### {title}\n\n{table(header, rows)}"


def _comparisons(sections: list[Comparison]) -> str:
    """A row for each program, and a column for each set of files."""
    header, rows = ["program"], []
    for section in sections:
        header += [section.title, *(["bytes sent"] if section.shows_wire else [])]
    for series in sections[0].series:
        row = [series.name]
        for section in sections:
            row += _cells(section, next(one for one in section.series if one.name == series.name))
        rows.append(row)
    return table(header, rows)


def _cells(comparison: Comparison, series: Series) -> list[str]:
    if not series.samples:
        return ["failed", *([""] if comparison.shows_wire else [])]
    wire = [f"{series.wire / comparison.size:.0%}"] if comparison.shows_wire else []
    return [f"{series.wall:.2f}, {series.cpu:.2f}", *wire]


def _alignment(rows: list[list[str]], column: int) -> str:
    value = next((row[column] for row in rows if row[column]), "")
    return "---:" if column > 0 and value.lstrip(">")[:1].isdigit() else "---"
