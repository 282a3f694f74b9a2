from __future__ import annotations

import random
import tempfile
import unittest
from pathlib import Path

from torture.looks import FILE, FOLDER, LINK, Look, Tree, differences
from torture.trees import Grove


class GroveTests(unittest.TestCase):
    def setUp(self) -> None:
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.path = Path(directory.name)

    def looks(self, name: str, seed: int) -> list[Look]:
        grove = Grove(self.path / name, random.Random(seed))
        found = [Tree(grove.directory).look()]
        for _ in range(3):
            grove.change(6)
            found.append(Tree(grove.directory).look())
        return found

    def test_the_seed_decides(self) -> None:
        for seed in range(6):
            for one, other in zip(self.looks("a", seed), self.looks("b", seed), strict=True):
                # The time of a folder is that of the last change in it, unless the folder was given one.
                problems = [problem for problem in differences(one, other) if "modified" not in problem]
                self.assertEqual(problems, [])

    def test_everything_comes(self) -> None:
        found = [look for seed in range(30) for look in self.looks("a", seed)]
        entries = [entry for look in found for entry in look.values()]
        self.assertEqual({entry.kind for entry in entries}, {FILE, FOLDER, LINK})
        self.assertTrue(any(entry.first != path for look in found for path, entry in look.items() if entry.kind == FILE))
        self.assertTrue(all(any(entry.kind == FILE for entry in look.values()) for look in found))
        self.assertGreater(len({entry.mode for entry in entries if entry.kind == FOLDER}), 3)
        self.assertTrue(
            any(
                before[path].kind != entry.kind
                for seed in range(10)
                for looks in [self.looks("a", seed)]
                for before, after in zip(looks, looks[1:], strict=False)
                for path, entry in after.items()
                if path in before
            )
        )


if __name__ == "__main__":
    unittest.main()
