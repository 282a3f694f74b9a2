from __future__ import annotations

import os
import random
import tempfile
import unittest
from pathlib import Path

from torture.faults import Fault
from torture.medium import Medium


class FaultTests(unittest.TestCase):
    def test_a_seed_decides(self) -> None:
        kinds = ["ext4", "xfs"]
        self.assertEqual(Fault.make(random.Random("1"), kinds), Fault.make(random.Random("1"), kinds))

    def test_everything_comes(self) -> None:
        faults = [Fault.make(random.Random(number), ["ext4", "xfs"]) for number in range(200)]
        self.assertEqual({fault.kind for fault in faults}, {"ext4", "xfs"})
        self.assertEqual({fault.restarts for fault in faults}, {True, False})
        self.assertEqual({kill is None for fault in faults for kill in fault.kills}, {True, False})


class MediumTests(unittest.TestCase):
    def setUp(self) -> None:
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.path = Path(directory.name)

    def test_what_does_not_fit_is_lost_and_told_once(self) -> None:
        for kind in Medium.kinds():
            medium = Medium(self.path / kind, kind)
            self.addCleanup(medium.abandon)
            try:
                medium.make(4 << 20)
            except OSError as error:
                self.skipTest(str(error))
            data = random.Random(kind).randbytes(16 << 20)
            file = medium.directory / "file"
            with file.open("wb", buffering=0) as out:
                out.write(data)
                with self.assertRaises(OSError):
                    os.fsync(out.fileno())
                medium.mend()
                # The kernel has reported the failure once, and the page cache still has the content that the disk has
                # lost.
                os.fsync(out.fileno())
            self.assertEqual(file.read_bytes(), data)
            medium.remount()
            self.assertNotEqual(file.read_bytes(), data)
            medium.abandon()


if __name__ == "__main__":
    unittest.main()
