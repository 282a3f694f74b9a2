"""The performance goals of the project, and whether a run meets them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from . import names
from .results import Missing, Results


@dataclass(frozen=True)
class Requirement:
    """A bound on one figure."""

    text: str
    measure: Callable[[Results], float]
    """Raises Missing if the run did not measure the figure."""

    bound: float
    unit: str = "×"
    is_upper: bool = False
    """Whether the bound is an upper bound; otherwise it is a lower bound."""

    @property
    def limit(self) -> str:
        return f"{'at most' if self.is_upper else 'at least'} {self.bound:g} {self.unit}"

    def judge(self, results: Results) -> Verdict:
        try:
            measured = self.measure(results)
        except Missing:
            return Verdict(self, None)
        return Verdict(self, measured)


@dataclass(frozen=True)
class Verdict:
    """A requirement and the measured figure; None if this run did not measure it."""

    requirement: Requirement
    measured: float | None

    @property
    def passed(self) -> bool | None:
        if self.measured is None:
            return None
        bound = self.requirement.bound
        return self.measured <= bound if self.requirement.is_upper else self.measured >= bound

    @property
    def word(self) -> str:
        return {True: "PASS", False: "FAIL", None: "not measured"}[self.passed]

    @property
    def figure(self) -> str:
        return "–" if self.measured is None else f"{self.measured:.2f} {self.requirement.unit}"

    def __str__(self) -> str:
        return f"{self.word}  {self.requirement.text}: {self.figure}, {self.requirement.limit}"


def verdicts(results: Results) -> list[Verdict]:
    """All requirements, judged by one run."""
    return [requirement.judge(results) for requirement in REQUIREMENTS]


def _speed(comparison: str, of: str, against: str) -> Callable[[Results], float]:
    """The ratio to the speed of another program. Raises Missing if either has no figure."""

    def measure(results: Results) -> float:
        found = results.comparison(comparison)
        return found.throughput(of) / found.throughput(against)

    return measure


def _speed_against_fastest(comparison: str, of: str, others: list[str]) -> Callable[[Results], float]:
    """The ratio to the speed of the fastest of several programs. All of them must have been measured."""

    def measure(results: Results) -> float:
        found = results.comparison(comparison)
        return found.throughput(of) / max(found.throughput(other) for other in others)

    return measure


def _steps_against_rsync(step: str) -> Callable[[Results], float]:
    """The ratio to the speed of rsync in a step of the set of trees."""

    def measure(results: Results) -> float:
        found = results.grid("trees").work(step)
        return found.throughput(names.TRANSFER_TLS) / found.throughput(names.RSYNC)

    return measure


def _share_of_line(link: str, work: str) -> Callable[[Results], float]:
    """Percent of the line rate. 0 if the program took too long."""

    def measure(results: Results) -> float:
        grid = results.grid(names.far_set(link))
        found = grid.work(work)
        if grid.line_rate is None:
            raise Missing(link)
        return 100 * found.throughput(names.TRANSFER_TLS) / grid.line_rate

    return measure


def _least_lead(link: str) -> Callable[[Results], float]:
    """The smallest ratio to the speed of the fastest other program over all works."""
    return lambda results: min(
        work.speed_against_fastest(names.TRANSFER_TLS) for work in results.grid(names.far_set(link)).works
    )


def _far(link: str, work: str, bound: float) -> Requirement:
    return Requirement(f"Far link {link}, {work}: share of the line rate", _share_of_line(link, work), bound, "%")


def _figure(name: str) -> Callable[[Results], float]:
    return lambda results: results.figure(name)


def _worst_spread(results: Results) -> float:
    """The largest spread over all file systems on which sizes were measured."""
    spreads = [value for name, value in results.figures.items() if name.startswith("sizes.")]
    if not spreads:
        raise Missing("sizes")
    return max(spreads)


REQUIREMENTS = [
    Requirement("1 GiB: speed against nginx PUT", _speed("big", names.TRANSFER, names.NGINX), 1.6),
    Requirement("1 GiB: speed against the rsync daemon", _speed("big", names.TRANSFER, names.RSYNC), 2.0),
    Requirement(
        "1 GiB: processors, both sides and the kernel",
        lambda results: results.comparison("big").cpu_per_gigabyte(names.TRANSFER),
        1.2,
        "CPU-s/GB",
        is_upper=True,
    ),
    Requirement(
        "Photos: speed against the fastest of nc, rsync and nginx",
        _speed_against_fastest("photos", names.TRANSFER, [names.NETCAT_TAR, names.RSYNC, names.NGINX]),
        1.6,
    ),
    Requirement("10,000 small files: speed against rsync", _speed("small", names.TRANSFER, names.RSYNC), 1.5),
    Requirement("Log text, zlib: speed against rsync -z", _speed("text", names.TRANSFER_ZLIB, names.RSYNC_Z), 4.0),
    Requirement(
        "Log text, zlib: speed against rsync -z with zlib", _speed("text", names.TRANSFER_ZLIB, names.RSYNC_ZLIB), 4.0
    ),
    Requirement(
        "1 GiB on disk: speed against rsync --fsync", _speed("disk-big", names.TRANSFER, names.RSYNC_FSYNC), 1.3
    ),
    Requirement(
        "10,000 small files on disk: speed against rsync --fsync",
        _speed("disk-small", names.TRANSFER, names.RSYNC_FSYNC),
        2.0,
    ),
    Requirement(
        "One file of 4 KiB: time of the client against curl",
        lambda results: results.figure("single.transfer") / results.figure("single.curl"),
        0.5,
        is_upper=True,
    ),
    Requirement(
        "Slow link, text: speed by default against no compression",
        _speed("network-text", names.TRANSFER, names.TRANSFER_NONE),
        2.2,
    ),
    Requirement(
        "Slow link, random bytes: speed by default against no compression",
        _speed("network-random", names.TRANSFER, names.TRANSFER_NONE),
        0.98,
    ),
    Requirement("10 MB to 20 GB a file: dearest gigabyte against the cheapest", _worst_spread, 1.15, is_upper=True),
    Requirement("1,000 to 200,000 files: fastest against the slowest", _figure("counts"), 1.2, is_upper=True),
    Requirement("Memory of either side", _figure("memory"), 64, "MiB", is_upper=True),
    *(
        Requirement(f"100,000 small files, {step}: speed with TLS against rsync", _steps_against_rsync(step), bound)
        for step, bound in {
            names.FIRST_PUSH: 1.2,
            names.PUSH_AGAIN: 1.5,
            names.TEN_CHANGED: 1.5,
            names.PULL: 1.2,
            names.PULL_AGAIN: 1.5,
        }.items()
    ),
    *(_far("continent", work, 92) for work in (names.FAR_PHOTOS, names.FAR_BIG)),
    *(_far("lossy", work, 60) for work in (names.FAR_PHOTOS, names.FAR_BIG)),
    *(
        Requirement(f"Far link {link}: speed against the fastest other, where that is least", _least_lead(link), 1)
        for link in ("lossy", "mobile", "moon")
    ),
    Requirement("10,000 small files into a cluster", _figure("cluster.small"), 15_000, "files/s"),
    Requirement("1 GiB into a cluster: speed against rclone", _figure("cluster.big"), 0.8),
    Requirement("First row of 5,000 entries in Chromium", _figure("page-open"), 300, "ms", is_upper=True),
    Requirement(
        "10,000 small files from Chromium: speed against copyparty", _speed("page-small", names.TRANSFER_PAGE, names.COPYPARTY), 3
    ),
    Requirement("1 GiB from Chromium: speed against copyparty", _speed("page-big", names.TRANSFER_PAGE, names.COPYPARTY), 1),
    Requirement("20,000 files dropped: heap of the page", _figure("page-drop.heap"), 150, "MiB", is_upper=True),
]
