"""The options of the command line."""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from .proof import Settings
from .runner import Choice

PROJECT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Options:
    """The options of one run."""

    choice: Choice
    settings: Settings
    is_background: bool
    is_list: bool
    is_check: bool
    document: Path
    state: Path
    directory: Path

    @staticmethod
    def parse(arguments: Sequence[str], keys: Sequence[str]) -> Options:
        """Reads the command line. Ends the program if the command line is wrong."""
        parser = _parser()
        found = parser.parse_args(arguments)
        only: dict[str, list[str]] = {}
        for word in (word for argument in found.only for word in argument.split()):
            key, colon, item = word.partition(":")
            if key not in keys:
                parser.error(f"there is no proof {key}, but {', '.join(keys)}")
            items = only.setdefault(key, [])
            if colon:
                items.append(item)
        seconds = found.seconds if found.hours is None else found.hours * 3600
        return Options(
            choice=Choice(only=only, seconds=seconds, again=found.again),
            settings=Settings(each=found.each, jobs=max(1, found.jobs), seed=int(time.time()) if found.seed is None else found.seed),
            is_background=found.background,
            is_list=found.list,
            is_check=found.check,
            document=found.document,
            state=found.state,
            directory=found.dir,
        )


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="proofs",
        allow_abbrev=False,
        description="Runs every long proof, goes on where the last run has ended, and writes docs/proofs.md. No command is "
        "begun when the time is over; the one that runs then comes to its end.",
    )
    length = parser.add_mutually_exclusive_group()
    length.add_argument("--hours", type=float, metavar="N", help="for how long (default: until all have ended)")
    length.add_argument("--seconds", type=float, metavar="N", help="the same")
    parser.add_argument("--only", action="append", default=[], metavar="PROOF[:ITEM]", help="only these")
    parser.add_argument("--again", action="store_true", help="also those that have been proven for these sources")
    parser.add_argument("--each", type=int, metavar="S", help="seconds for each fuzz target, hole and part of a simulation")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, metavar="N", help="simulators at once")
    parser.add_argument("--seed", type=int, metavar="N", help="of what is drawn (default: from the clock)")
    parser.add_argument("--background", action="store_true", help="go on behind the end of this command")
    parser.add_argument("--list", action="store_true", help="say what there is, and how far each is")
    parser.add_argument("--check", action="store_true", help="say which rows are old")
    parser.add_argument("--document", type=Path, default=PROJECT / "docs" / "proofs.md", help="where the table is")
    parser.add_argument("--state", type=Path, default=PROJECT / "docs" / "proofs.json", help="where it is kept how far each is")
    parser.add_argument("--dir", type=Path, default=PROJECT / ".build" / "proofs", help="for the logs")
    return parser
