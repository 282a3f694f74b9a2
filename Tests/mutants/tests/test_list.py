"""The list fits the present sources."""

from __future__ import annotations

import unittest
from itertools import groupby
from pathlib import Path

from mutants.listing import read
from mutants.placing import place

PROJECT = Path(__file__).resolve().parents[3]


class ListTests(unittest.TestCase):
    def test_each_mutant_fits_its_file(self) -> None:
        for directory in ("list", "holes"):
            mutants = sorted(read(PROJECT / "Tests" / "mutants" / directory), key=lambda mutant: mutant.file)
            self.assertTrue(mutants)
            for path, found in groupby(mutants, key=lambda mutant: mutant.file):
                with self.subTest(path=path):
                    place((PROJECT / path).read_text(encoding="utf-8"), list(found))


if __name__ == "__main__":
    unittest.main()
