from __future__ import annotations

import os
import signal
import unittest

from bench.signals import ENDING, undisturbed


class SignalTests(unittest.TestCase):
    def test_cleaning_up_goes_on(self) -> None:
        before = [signal.getsignal(number) for number in ENDING]
        with undisturbed():
            for number in ENDING:
                os.kill(os.getpid(), number)
        self.assertEqual([signal.getsignal(number) for number in ENDING], before)
