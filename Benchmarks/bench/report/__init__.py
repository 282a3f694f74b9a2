"""The report: a page with tables and a chart."""

from __future__ import annotations

from pathlib import Path

from ..results import Results
from .comparison_chart import comparison_chart
from .markdown import page

_CHART = "benchmarks.svg"


def write_report(directory: Path, results: Results) -> None:
    """Writes benchmarks.md, and benchmarks.svg when there is something to draw."""
    directory.mkdir(parents=True, exist_ok=True)
    chart = comparison_chart(results)
    if chart:
        (directory / _CHART).write_text(chart.svg())
    (directory / "benchmarks.md").write_text(page(results, _CHART if chart else None))
