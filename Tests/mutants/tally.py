"""Counts the ways in which mutants were noticed."""

from __future__ import annotations

from collections import Counter

from .mutant import Mutant
from .suites import End, Run

# Number of test names to show for each mutant.
_NAMES = 2


class Tally:
    """The results of all runs so far."""

    def __init__(self) -> None:
        self._ends: Counter[End] = Counter()
        self._unnoticed: list[int] = []
        self._explained = 0

    @property
    def is_good(self) -> bool:
        """Whether every mutant was noticed or is explained."""
        return not self._unnoticed

    def add(self, mutant: Mutant, run: Run, usual: float = 0, shows_all: bool = False) -> str:
        """Counts a run. Returns the line about it.

        - usual: seconds that the suite takes without a mutant: if they are many, the time limit says little.
        """
        if run.end is not End.PASSED:
            self._ends[run.end] += 1
            names = run.failed if shows_all else run.failed[:_NAMES]
            more = f" and {len(run.failed) - len(names)} more" if len(run.failed) > len(names) else ""
            by = f": {', '.join(names)}{more}" if names else ""
            beside = f", {usual:.0f} s with no mutant" if run.end is End.LATE else ""
            return f"noticed  {mutant.title} ({run.end.value}{by}; {run.seconds:.0f} s{beside})"
        if mutant.excuse:
            self._explained += 1
            return f"excused  {mutant.title} ({mutant.excuse})"
        self._unnoticed.append(mutant.number)
        return f"UNNOTICED {mutant.title} ({mutant.suite}, {run.tests} tests, {run.seconds:.0f} s)"

    @property
    def line(self) -> str:
        """A summary in one line."""
        noticed = sum(self._ends.values())
        parts = [f"{count} by {'a failing test' if end is End.FAILED else 'a crash' if end is End.CRASHED else end.value}"
                 for end, count in self._ends.most_common()]
        text = f"{noticed} noticed" + (f" ({', '.join(parts)})" if parts else "")
        if self._explained:
            text += f", {self._explained} not noticeable, as the list explains"
        if self._unnoticed:
            text += f", {len(self._unnoticed)} NOT NOTICED: {' '.join(map(str, self._unnoticed))}"
        return text
