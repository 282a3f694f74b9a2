"""A proof: commands that run one after the other, and the results that are read from their output."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

# Seconds after which a command is ended. No command takes that long, and a command that hangs would block the
# others.
LIMIT = 4 * 3600.0

# The control sequences that change colours on a terminal.
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")

# Number of findings of one command that the table quotes.
_NAMED = 4


@dataclass(frozen=True)
class Item:
    """One command of a proof. An interrupted run continues with the first command that has no result."""

    name: str
    command: Sequence[str]
    environment: Mapping[str, str] = field(default_factory=dict)
    limit: float = LIMIT


@dataclass(frozen=True)
class Result:
    """The result of one item."""

    name: str
    # The exit status; None if the time limit ended the command.
    status: int | None
    seconds: float
    # The counts by label, and the names found, such as numbers of mutants.
    counts: Mapping[str, int]
    names: Sequence[str]
    findings: Sequence[str]
    # The commit of the sources that the command ran on.
    commit: str = ""


@dataclass
class Progress:
    """The progress of a proof."""

    # The commit of the first part.
    commit: str
    seed: int
    command: str
    results: list[Result] = field(default_factory=list)

    @property
    def seconds(self) -> float:
        """The duration of all commands so far."""
        return sum(result.seconds for result in self.results)

    def has(self, name: str) -> bool:
        """Whether an item has a result."""
        return any(result.name == name for result in self.results)

    def total(self, label: str) -> int:
        """The sum of a count over all items so far."""
        return sum(result.counts.get(label, 0) for result in self.results)

    @property
    def last_commit(self) -> str:
        """The commit of the last part."""
        return self.results[-1].commit if self.results else self.commit

    def go_on(self, commit: str) -> None:
        """Continues with other sources. Parts with findings are run again, because the sources may contain the fix."""
        self.results = [result for result in self.results if not result.findings]
        self.commit = self.results[0].commit if self.results else commit

    @property
    def names(self) -> list[str]:
        """All names found so far."""
        return [name for result in self.results for name in result.names]

    @property
    def findings(self) -> list[str]:
        """All findings so far."""
        return [finding for result in self.results for finding in result.findings]


@dataclass(frozen=True)
class Settings:
    """Settings for the commands of the proofs."""

    # Seconds for each fuzz target, hole, and run of the simulator; None uses each proof's default.
    each: int | None
    jobs: int
    # Seed of all random choices.
    seed: int


# A function of the progress of the proof, its older row in the table (or an empty text) and the settings. Returns
# None at the end of the proof.
Next = Callable[[Progress, str, Settings], "Item | None"]


@dataclass(frozen=True)
class Proof:
    """One row of the table."""

    key: str
    # The statement that the proof supports.
    title: str
    # Paths whose commits make the row older.
    covers: Sequence[str]
    # The command that a user types for the proof.
    command: Callable[[Settings], str]
    next: Next
    # Labels, and expressions whose first group is a number: the numbers of all matches are added up. Without a group,
    # matches are counted.
    counts: Mapping[str, str] = field(default_factory=dict)
    # An expression whose first group is a name of something that was examined.
    named: str = ""
    # An expression with groups, one of which is a failed command's description of a finding.
    finding: str = ""
    # Text after the counts, made from the names found and the figures of the older row.
    more: Callable[[Progress, str], str] = lambda progress, older: ""

    def judge(self, item: Item, status: int | None, seconds: float, output: str, log: str, commit: str = "") -> Result:
        """Reads the output of a command. A failed command has at least one finding."""
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
        """The cell of the table with the figures."""
        parts = [f"{progress.total(label):,} {label}" for label in self.counts
                 if any(label in result.counts for result in progress.results)]
        more = self.more(progress, older)
        return ", ".join([*parts, more] if more else parts)


def one_after_the_other(items: Callable[[Progress, str, Settings], Sequence[Item]]) -> Next:
    """The function `Next` of a proof whose items are all known when it begins."""
    return lambda progress, older, settings: next(
        (item for item in items(progress, older, settings) if not progress.has(item.name)), None
    )
