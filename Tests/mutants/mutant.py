"""One fault that a person could make, as the list says it."""

from __future__ import annotations

import enum
from dataclasses import dataclass


class Kind(enum.Enum):
    """What is replaced."""

    # A value becomes another one.
    EXPRESSION = "expression"
    # A statement becomes another one, or is left out.
    STATEMENT = "statement"


@dataclass(frozen=True)
class Mutant:
    """One entry of the list."""

    number: int
    # Below the root of the project.
    file: str
    kind: Kind
    # Spaces and line ends count as one space.
    original: str
    # Empty for a statement that is left out.
    replacement: str
    # Text in front of the original, which is the first one behind it; empty where the original is there once.
    after: str
    # A filter of the test runner.
    suite: str
    # What the fault breaks.
    promise: str
    # Why no test can notice it; empty for one that has to be noticed.
    excuse: str = ""

    @property
    def title(self) -> str:
        """What is shown of it."""
        return f"{self.number:4} {self.file.removeprefix('Sources/')}: {self.promise}"
