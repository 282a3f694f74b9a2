"""Grids as tables: a row for each work, a column for each program."""

from __future__ import annotations

from .. import names
from ..results import Comparison, Grid, Missing, Series


def header(grid: Grid) -> list[str]:
    """The titles of the columns."""
    line = ["at the line rate"] if grid.line_rate else []
    return ["seconds for", *line, *_programs(grid), "lead"]


def rows(grid: Grid) -> list[list[str]]:
    """The cells of every work."""
    return [_row(grid, work) for work in grid.works]


def seconds(series: Series) -> str:
    """The median, with the fastest and the slowest run if there are several; or the reason why there is no result."""
    if series.over is not None:
        return f">{series.over:g}"
    if not series.samples:
        return "failed"
    low, high = series.range
    return f"{series.wall:.2f}" + (f" ({low:.2f}–{high:.2f})" if len(series.samples) > 1 else "")


def _programs(grid: Grid) -> list[str]:
    return [series.name for series in grid.works[0].series] if grid.works else []


def _row(grid: Grid, work: Comparison) -> list[str]:
    line = [f"{work.size / grid.line_rate:.2f}"] if grid.line_rate else []
    return [work.title, *line, *(seconds(series) for series in work.series), _lead(work)]


def _lead(work: Comparison) -> str:
    try:
        return f"{work.speed_against_fastest(names.TRANSFER_TLS):.2f}×"
    except Missing:
        return "–"
