from __future__ import annotations

import unittest

from bench import names
from bench.options import QUICK_SETS
from bench.sets import ON_REQUEST, SETS
from bench.sets.far_links import WORKS
from bench.sets.trees import lack_of_room


class SetTests(unittest.TestCase):
    def test_every_name_belongs_to_a_set(self) -> None:
        for name in [*QUICK_SETS, *ON_REQUEST, *map(names.far_set, names.FAR_LINKS)]:
            self.assertIn(name, SETS)

    def test_the_works_of_requirements_are_done(self) -> None:
        for title in (names.FAR_PHOTOS, names.FAR_BIG):
            self.assertIn(title, WORKS)

    def test_trees_need_bytes_and_files(self) -> None:
        much = 1 << 40
        self.assertIsNone(lack_of_room(1_000_000, much, 3_100_000))
        self.assertEqual(
            lack_of_room(1_000_000, much, 2_000_000),
            "there is room for 2,000,000 files, and it takes 3,010,000; --dir DIR names another place",
        )
        self.assertEqual(
            lack_of_room(100_000, 10**9, 3_100_000),
            "there are 1.0 GB free, and it takes 1.8; --dir DIR names another place",
        )
