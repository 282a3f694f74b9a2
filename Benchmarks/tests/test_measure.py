from __future__ import annotations

import unittest

from bench.measure import Stopwatch, busy_ticks, interface_bytes

_STAT = """cpu  100 20 3 5000 700 40 5 6000 70 8
cpu0 50 10 1 2500 350 20 2 3000 35 4
"""

_DEVICES = """Inter-|   Receive                            |  Transmit
 face |bytes    packets errs drop fifo frame |bytes    packets errs drop fifo colls
  eth0:    77       1    0    0    0     0        8       1    0    0    0     0
    lo: 123456     12    0    0    0     0   654321      12    0    0    0     0
"""


class MeasureTests(unittest.TestCase):
    def test_idle_waiting_and_stolen_time_is_not_work(self) -> None:
        self.assertEqual(busy_ticks(_STAT), 100 + 20 + 3 + 40 + 5)

    def test_the_interface_asked_for(self) -> None:
        self.assertEqual(interface_bytes(_DEVICES, "lo"), 123456)
        self.assertEqual(interface_bytes(_DEVICES, "eth0"), 77)
        self.assertEqual(interface_bytes(_DEVICES, "eth1"), 0)

    def test_a_stopwatch_measures_its_block(self) -> None:
        with Stopwatch() as watch:
            sum(range(1000))
        self.assertGreater(watch.sample.wall, 0)
        self.assertGreaterEqual(watch.sample.cpu, 0)
