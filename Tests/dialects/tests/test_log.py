from __future__ import annotations

import os
import unittest

from dialects.log import Log, Silent


class LogTests(unittest.TestCase):
    def setUp(self) -> None:
        read, write = os.pipe()
        self.writer = os.fdopen(write, "wb", buffering=0)
        self.addCleanup(self.writer.close)
        self.log = Log(os.fdopen(read, "rb"))

    def test_waits_for_a_line(self) -> None:
        self.writer.write(b'{"event":"a"}\n{"event":"b","n":1}\n')
        self.log.until(lambda: bool(self.log.events("b")), "no b")
        self.assertEqual(self.log.events("b"), [{"event": "b", "n": 1}])

    def test_the_end_ends_the_wait(self) -> None:
        self.writer.write(b'{"event":"a"}\n')
        self.writer.close()
        with self.assertRaisesRegex(Silent, '(?s)no b.*"event":"a"'):
            self.log.until(lambda: bool(self.log.events("b")), "no b")

    def test_patience_ends_it_too(self) -> None:
        with self.assertRaises(Silent):
            self.log.until(lambda: False, "nothing", patience=0.01)

    def test_strange_lines(self) -> None:
        self.writer.write(b'{"event":"a","level":"warning"}\n{"event":"b","level":"error"}\n')
        self.writer.write(b'{"event":"restarted"}\nFatal error\n')
        self.writer.close()
        self.log.finish()
        self.assertEqual(len(self.log.strange()), 3)
