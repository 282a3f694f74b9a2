"""The measurements, before they are judged or drawn."""

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
    """The guarantee that the program gives when it ends with success."""

    samples: list[Sample] = field(default_factory=list)
    failure: str | None = None
    over: float | None = None
    """The time limit in seconds that a run has exceeded; None if all runs ended in time."""

    @property
    def is_in(self) -> bool:
        """Whether no run has failed or taken too long."""
        return self.failure is None and self.over is None

    @property
    def wall(self) -> float:
        return statistics.median(sample.wall for sample in self.samples)

    @property
    def cpu(self) -> float:
        return statistics.median(sample.cpu for sample in self.samples)

    @property
    def wire(self) -> int:
        """Bytes on the wire in the run with the fewest bytes: other traffic over loopback can only add to them."""
        return min(sample.wire for sample in self.samples)

    @property
    def range(self) -> tuple[float, float]:
        """The fastest and the slowest run."""
        walls = [sample.wall for sample in self.samples]
        return min(walls), max(walls)


def _shortest(series: Series) -> float:
    """Seconds that the program takes, or its time limit if it exceeded that. Raises Missing if it has failed."""
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
    """Whether the report shows the number of bytes sent."""

    def named(self, name: str) -> Series:
        """The program's series. Raises Missing if it has none or has failed."""
        for series in self.series:
            if series.name == name and series.samples:
                return series
        raise Missing(name)

    def speed_against_fastest(self, name: str) -> float:
        """The ratio to the speed of the fastest other program. A program that took too long counts with the speed that
        it cannot exceed. 0 if the program itself took too long. Raises Missing if a program has failed, or there is no
        other one."""
        others = [series for series in self.series if series.name != name]
        if not others:
            raise Missing(name)
        return min(_shortest(other) for other in others) * self.throughput(name) / self.size

    def throughput(self, name: str) -> float:
        """Bytes of content a second; 0 if the program took too long."""
        if any(series.name == name and series.over is not None for series in self.series):
            return 0
        return self.size / self.named(name).wall

    def cpu_per_gigabyte(self, name: str) -> float:
        return self.named(name).cpu / (self.size / 1e9)


@dataclass
class Table:
    """Figures without a comparison to other programs."""

    title: str
    header: list[str]
    rows: list[list[str]]
    notes: list[str] = field(default_factory=list)


@dataclass
class Grid:
    """Several works, each done by several programs in turn."""

    title: str
    works: list[Comparison]
    """The works by their titles; the programs have the same order in each."""

    notes: list[str] = field(default_factory=list)
    line_rate: float | None = None
    """Bytes a second that the network can carry, if that is the limit."""

    def work(self, title: str) -> Comparison:
        """The comparison with that title. Raises Missing if it was not measured."""
        for work in self.works:
            if work.title == title:
                return work
        raise Missing(title)


Section = Comparison | Grid | Table


@dataclass
class Results:
    """Everything that one run of the benchmarks has measured."""

    command: str
    runs: int
    machine: list[tuple[str, str]]
    sections: dict[str, list[Section]] = field(default_factory=dict)
    figures: dict[str, float] = field(default_factory=dict)
    """Single figures that requirements refer to."""

    skipped: dict[str, str] = field(default_factory=dict)
    errors: list[str] = field(default_factory=list)

    def add(self, name: str, section: Section) -> None:
        self.sections.setdefault(name, []).append(section)

    def comparison(self, name: str) -> Comparison:
        """The comparison of a set that has only one. Raises Missing if it was not measured."""
        for section in self.sections.get(name, []):
            if isinstance(section, Comparison):
                return section
        raise Missing(name)

    def grid(self, name: str) -> Grid:
        """The works of a set. Raises Missing if they were not measured."""
        for section in self.sections.get(name, []):
            if isinstance(section, Grid):
                return section
        raise Missing(name)

    def figure(self, name: str) -> float:
        """The figure with that name. Raises Missing if it was not measured."""
        if name not in self.figures:
            raise Missing(name)
        return self.figures[name]

    def failures(self) -> list[str]:
        """One sentence for each failure."""
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
        """All comparisons, each with the names of the set and, if there are several, of the work."""
        for name, sections in self.sections.items():
            for section in sections:
                if isinstance(section, Comparison):
                    yield name, section
                elif isinstance(section, Grid):
                    yield from ((f"{name}: {work.title}", work) for work in section.works)
