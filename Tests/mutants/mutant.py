"""One fault that a programmer could make, as described in the list."""

from __future__ import annotations

import enum
from dataclasses import dataclass


class Kind(enum.Enum):
    """The kind of code that a mutant replaces."""

    # An expression is replaced by another one.
    EXPRESSION = "expression"
    # A statement is replaced by another one or removed.
    STATEMENT = "statement"


@dataclass(frozen=True)
class Mutant:
    """One entry of the list."""

    number: int
    # Relative to the root of the project.
    file: str
    kind: Kind
    # A sequence of spaces and line ends counts as one space.
    original: str
    # Empty if the statement is removed.
    replacement: str
    # Text in front of the original: the first occurrence behind this text is meant. Empty if the original occurs once.
    after: str
    # A filter of the test runner.
    suite: str
    # The promise that the fault breaks.
    promise: str
    # Why no test can notice the fault. Empty if a test must notice it.
    excuse: str = ""

    @property
    def title(self) -> str:
        """The description of the mutant in the output."""
        return f"{self.number:4} {self.file.removeprefix('Sources/')}: {self.promise}"
