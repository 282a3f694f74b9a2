"""What was measured, before anybody judges or draws it."""

from __future__ import annotations

import statistics
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

    def has(self, name: str) -> bool:
        return any(series.name == name and series.samples for series in self.series)

    def throughput(self, name: str) -> float:
        """Bytes of content a second."""
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


Section = Comparison | Table


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

    def figure(self, name: str) -> float:
        """Raises Missing when it was not measured."""
        if name not in self.figures:
            raise Missing(name)
        return self.figures[name]

    def failures(self) -> list[str]:
        """What went wrong, a sentence each."""
        return self.errors + [
            f"{name}: {series.name}: {series.failure}"
            for name, sections in self.sections.items()
            for section in sections
            if isinstance(section, Comparison)
            for series in section.series
            if series.failure
        ]
