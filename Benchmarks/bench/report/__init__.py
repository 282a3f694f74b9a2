"""The report: a page with tables and charts."""

from __future__ import annotations

from pathlib import Path

from ..results import Results
from .comparison_chart import comparison_chart
from .far_chart import far_chart
from .markdown import page

# The file of each chart, and the function that draws it if there is something to draw.
_CHARTS = {"benchmarks.svg": comparison_chart, "benchmarks-far.svg": far_chart}


def write_report(directory: Path, results: Results) -> None:
    """Writes benchmarks.md, and a file for every chart with content."""
    directory.mkdir(parents=True, exist_ok=True)
    drawn = []
    for name, make in _CHARTS.items():
        if chart := make(results):
            (directory / name).write_text(chart.svg())
            drawn.append((name, chart.title))
    (directory / "benchmarks.md").write_text(page(results, drawn))
