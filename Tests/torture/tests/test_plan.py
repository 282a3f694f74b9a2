from __future__ import annotations

import random
import tempfile
import unittest
from pathlib import Path

from torture.content import BLOCK, PARTS, digest_of
from torture.pace import Pace
from torture.plan import Plan, Victim
from torture.sources import Sources


class PlanTests(unittest.TestCase):
    def test_the_seed_decides(self) -> None:
        self.assertEqual(Plan.make(5, random.Random("7/5")), Plan.make(5, random.Random("7/5")))

    def test_everything_comes(self) -> None:
        pushes = [push for number in range(300) for push in Plan.make(number, random.Random(number)).pushes]
        kills = [kill for push in pushes for kill in push.kills]
        self.assertEqual({kill.victim for kill in kills}, set(Victim))
        self.assertEqual({push.form for push in pushes}, {"directory", "files", "text", "input"})
        self.assertEqual({kill.counts_lines for kill in kills}, {False, True})
        self.assertEqual({kill.changes for kill in kills}, {False, True})
        self.assertEqual({push.flags[1] for push in pushes}, {"1", "2", "3", "4", "32"})
        self.assertTrue(any("zlib" in push.flags for push in pushes))


class SourcesTests(unittest.TestCase):
    def setUp(self) -> None:
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.path = Path(directory.name) / "set"

    def assert_true(self, sources: Sources) -> None:
        found = {str(path.relative_to(self.path)) for path in self.path.rglob("*") if path.is_file()}
        self.assertEqual(found, set(sources.files))
        for path, file in sources.files.items():
            self.assertEqual(file.digest, digest_of(self.path / path))
            self.assertEqual(file.size, (self.path / path).stat().st_size)

    def test_what_it_says_is_there(self) -> None:
        for seed in range(4):
            sources = Sources(self.path, random.Random(seed), huge=False)
            self.assert_true(sources)
            before = dict(sources.files)
            sources.change()
            self.assert_true(sources)
            self.assertNotEqual(before, sources.files)

    def test_sizes_of_every_kind_come(self) -> None:
        sizes = {
            file.size for seed in range(16) for file in Sources(self.path, random.Random(seed), huge=False).files.values()
        }
        self.assertLessEqual({0, 1}, sizes)
        self.assertTrue(any(1 < size <= 8 << 10 for size in sizes))
        self.assertTrue(any(60 << 10 <= size <= 70 << 10 for size in sizes))
        self.assertTrue(any(BLOCK < size for size in sizes))

    def test_a_huge_one_travels_in_parts(self) -> None:
        self.assertGreater(Sources(self.path, random.Random(1), huge=True).longest, PARTS)


class PaceTests(unittest.TestCase):
    def test_learns(self) -> None:
        pace = Pace()
        for _ in range(100):
            pace.learn(10, 1 << 20, 2.0)
        self.assertAlmostEqual(pace.expected(10, 1 << 20), 2.0, places=2)


if __name__ == "__main__":
    unittest.main()
