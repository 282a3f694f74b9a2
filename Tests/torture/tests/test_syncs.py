from __future__ import annotations

import json
import os
import random
import shutil
import tempfile
import unittest
from pathlib import Path

from torture.looks import Backup, Trash, Tree
from torture.plan import Victim
from torture.program import Broken
from torture.syncs import Side, SyncRoundPlan, catalog_problems


class SyncRoundPlanTests(unittest.TestCase):
    def test_a_seed_decides_everything(self) -> None:
        plans = [SyncRoundPlan.make(random.Random(seed)) for seed in range(100)]
        self.assertEqual(plans, [SyncRoundPlan.make(random.Random(seed)) for seed in range(100)])
        steps = [step for plan in plans for step in plan.steps]
        self.assertEqual({step.pushes for step in steps}, {False, True})
        self.assertEqual({kill.victim for step in steps for kill in step.kills}, set(Victim))
        self.assertTrue(all(plan.steps[0].pushes for plan in plans))
        self.assertTrue(any(step.changes > 5 for step in steps) and any(step.restores for step in steps))
        self.assertEqual({plan.backs_up for plan in plans}, {False, True})


class CatalogTests(unittest.TestCase):
    def problems(self, *findings: tuple[str, str]) -> list[str]:
        lines = [json.dumps({"finding": kind, "path": path}) for kind, path in findings]
        return catalog_problems("\n".join([*lines, json.dumps({"finding": "summary"})]).encode(), {"r1/gone"})

    def test_what_breaks_a_promise_is_found(self) -> None:
        for kind in ("rotten", "unreadable", "missing"):
            self.assertEqual(self.problems((kind, "r1/x")), [f"{kind} 'r1/x'"])
        self.assertEqual(self.problems(("rotten", "r1/gone")), ["rotten 'r1/gone'"])

    def test_what_the_catalog_could_not_hear_is_expected(self) -> None:
        self.assertEqual(self.problems(("missing", "r1/gone"), ("untracked", "r1/y"), ("changed", "r1/z")), [])


class SideTests(unittest.TestCase):
    def setUp(self) -> None:
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.path = Path(directory.name)
        for name in ("source", "target", "trash/part"):
            (self.path / name).mkdir(parents=True)
        self.side = Side(Tree(self.path / "source"), Tree(self.path / "target"), Trash(self.path / "trash"))

    def write(self, path: str, held: bytes) -> None:
        (self.path / path).write_bytes(held)

    def copy(self) -> None:
        shutil.rmtree(self.path / "target")
        shutil.copytree(self.path / "source", self.path / "target", symlinks=True)
        self.side.begin()
        self.side.look()
        self.side.require_same()

    def test_what_is_replaced_has_to_be_in_the_backups(self) -> None:
        target = Tree(self.path / "target", ["kept"])
        self.side = Side(Tree(self.path / "source"), target, Backup(self.path / "target" / "kept"))
        for held in (b"1", b"2", b"3"):
            self.write("source/a", held)
            if held != b"1":
                place = self.path / "target" / "kept" / ("20261127T100000Z" if held == b"3" else "")
                place.mkdir(parents=True, exist_ok=True)
                shutil.copy2(self.path / "target" / "a", place / "a")
            shutil.copy2(self.path / "source" / "a", self.path / "target" / "a")
            self.side.begin()
            self.side.look()
        os.unlink(self.path / "target" / "kept" / "20261127T100000Z" / "a")
        with self.assertRaisesRegex(Broken, "gone, and kept nowhere: 'a'"):
            self.side.look()

    def test_a_tree_that_differs_is_found(self) -> None:
        self.write("source/f", b"x")
        self.copy()
        os.chmod(self.path / "target" / "f", 0o600)
        self.side.look()
        with self.assertRaises(Broken):
            self.side.require_same()

    def test_half_a_file_is_found(self) -> None:
        self.write("source/f", b"whole")
        self.copy()
        self.write("target/f", b"who")
        with self.assertRaises(Broken):
            self.side.look()

    def test_what_was_removed_is_owed(self) -> None:
        self.write("source/f", b"x")
        self.copy()
        (self.path / "source" / "f").unlink()
        self.side.begin()
        os.rename(self.path / "target" / "f", self.path / "trash" / "part" / "f")
        self.assertEqual(self.side.look(), {"f"})
        self.assertEqual(self.side.restorable(), ["f"])
        (self.path / "trash" / "part" / "f").unlink()
        with self.assertRaises(Broken):
            self.side.look()

    def test_what_comes_back_is_what_was_removed(self) -> None:
        self.write("trash/part/f", b"x")
        self.side.begin()
        self.side.look()
        place, aside = self.path / "target" / "f", self.path / "trash" / "part" / "f"
        with self.assertRaises(Broken):
            self.side.restore("f", lambda: None)
        with self.assertRaises(Broken):
            self.side.restore("f", lambda: self.write("target/f", b"y"))
        place.unlink()
        self.side.restore("f", lambda: os.rename(aside, place))
        self.assertEqual(self.side.restorable(), [])


if __name__ == "__main__":
    unittest.main()
