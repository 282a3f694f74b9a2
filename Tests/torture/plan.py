"""The plan of a round, decided by its seed alone."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from enum import Enum


class Victim(Enum):
    """The process to kill."""

    CLIENT = "client"
    SERVER = "server"
    BOTH = "both"


@dataclass(frozen=True)
class Kill:
    """One kill: after a share of the expected time, or when a share of the uploads is acknowledged."""

    victim: Victim
    share: float
    counts_lines: bool
    # Whether the source changes before the command is repeated.
    changes: bool

    @staticmethod
    def make(source: random.Random) -> Kill:
        victim = source.choices(list(Victim), [4, 4, 2])[0]
        counts_lines = source.random() < 0.4
        # Some kills come after the last acknowledgement.
        share = source.random() if counts_lines else source.uniform(0, 1.1)
        return Kill(victim, share, counts_lines, changes=source.random() < 0.2)


@dataclass(frozen=True)
class Push:
    """One command and its kills. The command is repeated after each kill, and the last run is undisturbed."""

    folder: str
    # "directory", "files", "text" or "input"
    form: str
    flags: tuple[str, ...]
    kills: tuple[Kill, ...]

    @staticmethod
    def make(number: int, source: random.Random, kills: int) -> Push:
        form = source.choices(["directory", "files", "text", "input"], [6, 4, 1, 1])[0]
        flags = ["--lanes", str(source.choice([1, 2, 3, 4, 4, 32]))]
        if source.random() < 0.35:
            flags += ["--compress", source.choice(["zlib", "zstd", "none"])]
        if source.random() < 0.1:
            flags += ["--digest", "sha256"]
        if source.random() < 0.15:
            flags += ["--on-conflict", "overwrite"]
        folder = "shared" if source.random() < 0.5 else f"round {number}/{source.randrange(1000)}"
        return Push(folder, form, tuple(flags), tuple(Kill.make(source) for _ in range(kills)))


@dataclass(frozen=True)
class Plan:
    """The pushes of one round."""

    pushes: tuple[Push, ...] = field(default_factory=tuple)

    @staticmethod
    def make(number: int, source: random.Random) -> Plan:
        first = Push.make(number, source, kills=source.choice([1, 1, 1, 2, 2, 3]))
        if source.random() < 0.75:
            return Plan((first,))
        # Another push stores other files in the same directory.
        return Plan((first, Push.make(number, source, kills=source.choice([0, 1]))))
