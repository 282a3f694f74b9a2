"""The duration of pushes on this machine, learnt from undisturbed pushes."""

from __future__ import annotations

# Weight of the newest measurement in the average.
_WEIGHT = 0.2


class Pace:
    """The duration of a push: a constant, plus seconds for each file and for each byte."""

    def __init__(self) -> None:
        self.start = 0.02
        self.file = 0.0005
        self.byte = 2e-9

    def expected(self, files: int, size: int) -> float:
        """The expected seconds of a push."""
        return self.start + files * self.file + size * self.byte

    def learn(self, files: int, size: int, seconds: float) -> None:
        """Records the measured duration of a push."""
        ratio = min(4.0, max(0.25, seconds / self.expected(files, size)))
        factor = ratio**_WEIGHT
        self.start *= factor
        self.file *= factor
        self.byte *= factor
