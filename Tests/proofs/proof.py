"""What a proof is: commands that are run one after the other, and what is read from their output."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

# Seconds after which a command is ended: none of them takes that long, and one that hangs keeps the others from being run.
LIMIT = 4 * 3600.0

# How terminals are told to change colours.
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")

# Findings of one command that are named in the table.
_NAMED = 4


@dataclass(frozen=True)
class Item:
    """One command of a proof. A run that was ended goes on with the first one that has no result."""

    name: str
    command: Sequence[str]
    environment: Mapping[str, str] = field(default_factory=dict)
    limit: float = LIMIT


@dataclass(frozen=True)
class Result:
    """What came of one item."""

    name: str
    # The exit status; nil if the time limit ended it.
    status: int | None
    seconds: float
    # What is counted, by label, and what is named: numbers of mutants.
    counts: Mapping[str, int]
    names: Sequence[str]
    findings: Sequence[str]
    # Of the sources that it ran on.
    commit: str = ""


@dataclass
class Progress:
    """How far a proof is."""

    # Of its first part.
    commit: str
    seed: int
    command: str
    results: list[Result] = field(default_factory=list)

    @property
    def seconds(self) -> float:
        """All commands so far."""
        return sum(result.seconds for result in self.results)

    def has(self, name: str) -> bool:
        """Whether an item has a result."""
        return any(result.name == name for result in self.results)

    def total(self, label: str) -> int:
        """A count of all items so far."""
        return sum(result.counts.get(label, 0) for result in self.results)

    @property
    def last_commit(self) -> str:
        """Of its last part."""
        return self.results[-1].commit if self.results else self.commit

    def go_on(self, commit: str) -> None:
        """Goes on with other sources: what has found something is run again, because they may have its mend."""
        self.results = [result for result in self.results if not result.findings]
        self.commit = self.results[0].commit if self.results else commit

    @property
    def names(self) -> list[str]:
        """All that was named so far."""
        return [name for result in self.results for name in result.names]

    @property
    def findings(self) -> list[str]:
        """All findings so far."""
        return [finding for result in self.results for finding in result.findings]


@dataclass(frozen=True)
class Settings:
    """How the commands of the proofs are to be run."""

    # Seconds for each fuzz target, hole, and run of the simulator; nil takes what each proof has.
    each: int | None
    jobs: int
    # Of what is drawn by chance.
    seed: int


# Gets how far the proof is, its older row in the table (empty if there is none) and the settings. Returns nil at its end.
Next = Callable[[Progress, str, Settings], "Item | None"]


@dataclass(frozen=True)
class Proof:
    """One row of the table."""

    key: str
    # What it shows.
    title: str
    # Paths whose commits make its row older.
    covers: Sequence[str]
    # What to type for the same.
    command: Callable[[Settings], str]
    next: Next
    # Labels, and expressions whose first group is a number: all that match are added up. Without a group, matches are counted.
    counts: Mapping[str, str] = field(default_factory=dict)
    # An expression whose first group names something that was looked at.
    named: str = ""
    # An expression with groups, one of which is what a failed command says of a finding.
    finding: str = ""
    # Text behind the counts, from what was named and the figures of the older row.
    more: Callable[[Progress, str], str] = lambda progress, older: ""

    def judge(self, item: Item, status: int | None, seconds: float, output: str, log: str, commit: str = "") -> Result:
        """Reads what a command said. One that has failed has at least one finding."""
        output = _COLOUR.sub("", output)
        counts = {}
        for label, expression in self.counts.items():
            found = list(re.finditer(expression, output, re.MULTILINE))
            if found:
                counts[label] = sum(int(match[1].replace(",", "")) if match.re.groups else 1 for match in found)
        names = re.findall(self.named, output, re.MULTILINE) if self.named else []
        findings = [] if status == 0 else self._findings(item, status, output, log)
        return Result(item.name, status, seconds, counts, names, findings, commit)

    def _findings(self, item: Item, status: int | None, output: str, log: str) -> list[str]:
        matches = re.finditer(self.finding, output, re.MULTILINE) if self.finding else ()
        texts = (next(group for group in match.groups() if group) for match in matches)
        found = list(dict.fromkeys(" ".join(text.split()) for text in texts))
        if len(found) > _NAMED:
            found = [*found[:_NAMED], f"{len(found) - _NAMED} more of {item.name}, see {log}"]
        if found:
            return found
        end = "did not end" if status is None else f"ended with {status}"
        return [f"{item.name} {end}, see {log}"]

    def figures(self, progress: Progress, older: str) -> str:
        """The cell of the table."""
        parts = [f"{progress.total(label):,} {label}" for label in self.counts
                 if any(label in result.counts for result in progress.results)]
        more = self.more(progress, older)
        return ", ".join([*parts, more] if more else parts)


def one_after_the_other(items: Callable[[Progress, str, Settings], Sequence[Item]]) -> Next:
    """For a proof whose items are known when it begins."""
    return lambda progress, older, settings: next(
        (item for item in items(progress, older, settings) if not progress.has(item.name)), None
    )
