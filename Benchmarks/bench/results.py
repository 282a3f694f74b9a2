"""What was measured, before anybody judges or draws it."""

from __future__ import annotations

import statistics
from collections.abc import Iterator
from dataclasses import dataclass, field

from .measure import Sample


class Missing(Exception):
    """A figure was not measured in this run."""


@dataclass
class Series:
    """All runs of one program on one set of files."""

    name: str
    promise: str
    """What the program has made sure of when it ends with success."""

    samples: list[Sample] = field(default_factory=list)
    failure: str | None = None
    over: float | None = None
    """The seconds in which a run has not ended; nothing when all have."""

    @property
    def is_in(self) -> bool:
        """Whether it has neither failed nor taken too long."""
        return self.failure is None and self.over is None

    @property
    def wall(self) -> float:
        return statistics.median(sample.wall for sample in self.samples)

    @property
    def cpu(self) -> float:
        return statistics.median(sample.cpu for sample in self.samples)

    @property
    def wire(self) -> int:
        """Bytes on the wire in the run with the least: what else is sent over loopback can only add."""
        return min(sample.wire for sample in self.samples)

    @property
    def range(self) -> tuple[float, float]:
        """The fastest and the slowest run."""
        walls = [sample.wall for sample in self.samples]
        return min(walls), max(walls)


def _shortest(series: Series) -> float:
    """Seconds that the program takes, or at least those that it had. Raises Missing when it has failed."""
    if series.over is not None:
        return series.over
    if not series.samples:
        raise Missing(series.name)
    return series.wall


@dataclass
class Comparison:
    """One set of files, pushed by several programs in turn."""

    title: str
    files: int
    size: int
    series: list[Series]
    notes: list[str] = field(default_factory=list)
    shows_wire: bool = False
    """Whether it is of interest how many bytes were sent."""

    def named(self, name: str) -> Series:
        """The program's series. Raises Missing when it has none or has failed."""
        for series in self.series:
            if series.name == name and series.samples:
                return series
        raise Missing(name)

    def speed_against_fastest(self, name: str) -> float:
        """How many times as fast as the fastest of all others. Of those that took too long it is known how fast they
        were at most. 0 when the program took too long itself. Raises Missing when one has failed, or none is there."""
        others = [series for series in self.series if series.name != name]
        if not others:
            raise Missing(name)
        return min(_shortest(other) for other in others) * self.throughput(name) / self.size

    def throughput(self, name: str) -> float:
        """Bytes of content a second; 0 of a program that took too long."""
        if any(series.name == name and series.over is not None for series in self.series):
            return 0
        return self.size / self.named(name).wall

    def cpu_per_gigabyte(self, name: str) -> float:
        return self.named(name).cpu / (self.size / 1e9)


@dataclass
class Table:
    """Figures that no other program is compared with."""

    title: str
    header: list[str]
    rows: list[list[str]]
    notes: list[str] = field(default_factory=list)


@dataclass
class Grid:
    """Several works, each done by several programs in turn."""

    title: str
    works: list[Comparison]
    """What was done, by the titles; the programs stand in the same order in each."""

    notes: list[str] = field(default_factory=list)
    line_rate: float | None = None
    """Bytes a second that fit through the network, where that is the limit."""

    def work(self, title: str) -> Comparison:
        """Raises Missing when it was not measured."""
        for work in self.works:
            if work.title == title:
                return work
        raise Missing(title)


Section = Comparison | Grid | Table


@dataclass
class Results:
    """Everything that one run of the benchmarks has found."""

    command: str
    runs: int
    machine: list[tuple[str, str]]
    sections: dict[str, list[Section]] = field(default_factory=dict)
    figures: dict[str, float] = field(default_factory=dict)
    """Single figures that requirements are about."""

    skipped: dict[str, str] = field(default_factory=dict)
    errors: list[str] = field(default_factory=list)

    def add(self, name: str, section: Section) -> None:
        self.sections.setdefault(name, []).append(section)

    def comparison(self, name: str) -> Comparison:
        """The comparison of a set that has only one. Raises Missing when it was not measured."""
        for section in self.sections.get(name, []):
            if isinstance(section, Comparison):
                return section
        raise Missing(name)

    def grid(self, name: str) -> Grid:
        """The works of a set. Raises Missing when it was not measured."""
        for section in self.sections.get(name, []):
            if isinstance(section, Grid):
                return section
        raise Missing(name)

    def figure(self, name: str) -> float:
        """Raises Missing when it was not measured."""
        if name not in self.figures:
            raise Missing(name)
        return self.figures[name]

    def failures(self) -> list[str]:
        """What went wrong, a sentence each."""
        return self.errors + [
            f"{name}: {series.name}: {series.failure}"
            for name, comparison in self._comparisons()
            for series in comparison.series
            if series.failure
        ]

    def series(self) -> Iterator[Series]:
        """All series of all comparisons, in the order of the report."""
        for _, comparison in self._comparisons():
            yield from comparison.series

    def _comparisons(self) -> Iterator[tuple[str, Comparison]]:
        """All of them, each with where it is: the set, and the work if there are several."""
        for name, sections in self.sections.items():
            for section in sections:
                if isinstance(section, Comparison):
                    yield name, section
                elif isinstance(section, Grid):
                    yield from ((f"{name}: {work.title}", work) for work in section.works)
