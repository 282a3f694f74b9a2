"""The clock of a server, and one round of torture over real engines."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

from cluster.members import make_clock


class ClockTests(unittest.TestCase):
    def test_the_wall_clock_of_one_process_moves(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            library = make_clock(Path(folder))
            if library is None:
                self.skipTest("no compiler of C is installed")
            asked = [sys.executable, "-c", "import time; print(time.time(), time.monotonic())"]
            moved = {"LD_PRELOAD": str(library), "TORTURE_CLOCK": "31536000"}
            said = subprocess.run(asked, env=os.environ | moved, check=True, capture_output=True, text=True).stdout
            wall, monotonic = map(float, said.split())
            self.assertGreater(wall - time.time(), 31_000_000)
            self.assertLess(abs(monotonic - time.monotonic()), 1_000_000)
