"""Sample results for the tests."""

from __future__ import annotations

from bench.measure import Sample
from bench.results import Comparison, Grid, Results, Section, Series


def series(name: str, *walls: float, cpu: float = 1.0, wire: int = 0) -> Series:
    return Series(name, "verified", [Sample(wall, cpu, wire) for wall in walls])


def comparison(*all_series: Series, files: int = 1, size: int = 1_000_000_000) -> Comparison:
    return Comparison("One gigabyte", files, size, list(all_series))


def late(name: str, limit: float) -> Series:
    """A program that had not ended after that many seconds."""
    return Series(name, "verified", over=limit)


def grid(line_rate: float | None = None, **works: Comparison) -> Grid:
    """Works by their titles, with _ for spaces."""
    for title, work in works.items():
        work.title = title.replace("_", " ")
    return Grid("Some works", list(works.values()), line_rate=line_rate)


def results(**sections: Section) -> Results:
    found = Results("make bench", 3, [("processor", "a fast one")])
    for name, section in sections.items():
        found.add(name.replace("_", "-"), section)
    return found
