"""How long pushes take here: learnt from those that nobody disturbed."""

from __future__ import annotations

# Of the newest measurement in the average.
_WEIGHT = 0.2


class Pace:
    """Seconds of a push as a share for the program, for each file and for each byte."""

    def __init__(self) -> None:
        self.start = 0.02
        self.file = 0.0005
        self.byte = 2e-9

    def expected(self, files: int, size: int) -> float:
        """Seconds that a push takes."""
        return self.start + files * self.file + size * self.byte

    def learn(self, files: int, size: int, seconds: float) -> None:
        """A push of so much took so long."""
        ratio = min(4.0, max(0.25, seconds / self.expected(files, size)))
        factor = ratio**_WEIGHT
        self.start *= factor
        self.file *= factor
        self.byte *= factor
