from __future__ import annotations

import tempfile
import unittest
from pathlib import Path

from bench.verify import difference


class DifferenceTests(unittest.TestCase):
    def setUp(self) -> None:
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.source, self.target = Path(directory.name, "source"), Path(directory.name, "target")
        for root in (self.source, self.target):
            (root / "inner").mkdir(parents=True)
            (root / "one").write_bytes(b"1")
            (root / "inner" / "two").write_bytes(b"22")

    def test_equal_trees(self) -> None:
        self.assertIsNone(difference(self.source, self.target))

    def test_other_bytes_of_the_same_size(self) -> None:
        (self.target / "inner" / "two").write_bytes(b"2x")
        self.assertEqual(difference(self.source, self.target), "inner/two arrived with other bytes")

    def test_a_missing_file(self) -> None:
        (self.target / "one").unlink()
        self.assertEqual(difference(self.source, self.target), "1 of 2 files did not arrive, such as one")

    def test_a_surplus_file(self) -> None:
        (self.target / "one-1").touch()
        self.assertEqual(difference(self.source, self.target), "1 files too many, such as one-1")

    def test_the_folder_of_the_server_is_its_own(self) -> None:
        (self.target / ".transfer").mkdir()
        (self.target / ".transfer" / "lock").touch()
        self.assertIsNone(difference(self.source, self.target))
