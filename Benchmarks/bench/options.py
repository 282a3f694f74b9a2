"""The options of the command line."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[2]

QUICK_SETS = ["big", "photos", "small", "text"]
QUICK_RUNS = 3
RUNS = 5


@dataclass(frozen=True)
class Options:
    """The options of one run."""

    sets: list[str]
    runs: int
    directory: Path | None
    disk: Path | None
    transfer: Path
    output: Path
    arguments: list[str]

    @property
    def command(self) -> str:
        """The command that repeats this run."""
        return f"make bench BENCH={shlex.quote(shlex.join(self.arguments))}" if self.arguments else "make bench"

    @staticmethod
    def parse(arguments: list[str], known: list[str], on_request: Collection[str] = ()) -> Options:
        """Reads the command line. Ends the program if the command line is wrong. The sets in `on_request` run only if
        they are named."""
        parser = _parser(known, on_request)
        found = parser.parse_args(arguments)
        default = [name for name in known if name not in on_request]
        sets = _sets(parser, found.set, known) if found.set else QUICK_SETS if found.quick else default
        runs = found.runs or (QUICK_RUNS if found.quick else RUNS)
        if runs < 1:
            parser.error("--runs must be at least 1")
        # Only a complete run may replace the report in the repository.
        is_complete = set(default) <= set(sets)
        output = found.output or (PROJECT / "docs" if is_complete else PROJECT / ".build" / "benchmarks")
        return Options(sets, runs, found.dir, found.disk, found.transfer.resolve(), output.resolve(), arguments)


def _sets(parser: argparse.ArgumentParser, text: str, known: list[str]) -> list[str]:
    wanted = text.split(",")
    unknown = [name for name in wanted if name not in known]
    if unknown:
        parser.error(f"there is no set {unknown[0]!r}; there are {', '.join(known)}")
    return [name for name in known if name in wanted]


def _parser(known: list[str], on_request: Collection[str]) -> argparse.ArgumentParser:
    sets = f"Sets: {', '.join(known)}."
    if on_request:
        sets += f" Only when named with --set: {', '.join(on_request)}."
    parser = argparse.ArgumentParser(
        prog="bench", description="Measures transfer beside other programs.", epilog=sets
    )
    parser.add_argument("--set", metavar="A,B", help="measure only these sets")
    parser.add_argument("--runs", type=int, metavar="N", help=f"runs after the warm-up; {RUNS} by default")
    parser.add_argument(
        "--quick", action="store_true", help=f"{QUICK_RUNS} runs of {', '.join(QUICK_SETS)} and nothing else"
    )
    parser.add_argument(
        "--dir", type=Path, metavar="DIR", help="work in a new directory below DIR; by default in memory, if it fits"
    )
    parser.add_argument(
        "--disk", type=Path, metavar="DIR", help="a directory on the disk to measure; by default the project's .build"
    )
    parser.add_argument(
        "--transfer", type=Path, metavar="FILE", default=PROJECT / ".build/release/transfer", help="the program"
    )
    parser.add_argument(
        "--output",
        type=Path,
        metavar="DIR",
        help="where to write the report; by default docs, or .build/benchmarks when not all sets are measured",
    )
    return parser
