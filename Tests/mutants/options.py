"""The options of the command line."""

from __future__ import annotations

import argparse
import fnmatch
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from .mutant import Mutant

PROJECT = Path(__file__).resolve().parents[2]

# Seconds in which a suite must notice a mutant.
LIMIT = 60.0


@dataclass(frozen=True)
class Options:
    """The options of one run."""

    # Numbers and patterns of files; an empty list chooses all mutants.
    chosen: Sequence[str]
    directory: Path
    jobs: int
    # Replaces the suite of each mutant, if not empty.
    suite: str
    limit: float
    builds: bool
    shows: bool

    @property
    def source(self) -> Path:
        """The copy of the project."""
        return self.directory / "source"

    @property
    def build(self) -> Path:
        """The folder in which the copy is built."""
        return self.directory / "build"

    def chooses(self, mutant: Mutant) -> bool:
        """Whether a mutant is chosen."""
        return not self.chosen or any(_matches(choice, mutant) for choice in self.chosen)

    @staticmethod
    def parse(arguments: Sequence[str]) -> Options:
        """Reads the command line. Ends the program if the command line is wrong."""
        found = _parser().parse_args(arguments)
        return Options(
            chosen=[choice for argument in found.mutants for choice in argument.split()],
            directory=found.dir.resolve(),
            jobs=max(1, found.jobs),
            suite=found.suite,
            limit=found.limit,
            builds=not found.skip_build,
            shows=found.show,
        )


def _matches(choice: str, mutant: Mutant) -> bool:
    if choice.isdigit():
        return int(choice) == mutant.number
    first, dash, last = choice.partition("-")
    if dash and first.isdigit() and last.isdigit():
        return int(first) <= mutant.number <= int(last)
    return fnmatch.fnmatch(mutant.file, f"*{choice}*")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="mutants", description="Puts faults into a copy of the sources and runs the suites that have to notice them."
    )
    parser.add_argument(
        "mutants", nargs="*", metavar="MUTANT", help="a number, FIRST-LAST, or part of a file's path (default: all)"
    )
    parser.add_argument("--jobs", type=int, default=2, metavar="N", help="how many run at once (default: 2)")
    parser.add_argument("--suite", default="", metavar="FILTER", help="run this instead of the suites of the list")
    parser.add_argument(
        "--limit", type=float, default=LIMIT, metavar="S", help=f"seconds for each (default: {LIMIT:.0f})"
    )
    parser.add_argument("--skip-build", action="store_true", help="the copy is built already")
    parser.add_argument("--show", action="store_true", help="name all tests that failed")
    parser.add_argument(
        "--dir", type=Path, default=PROJECT / ".build" / "mutants", help="where to work (default: .build/mutants)"
    )
    return parser
