from __future__ import annotations

import random
import tempfile
import unittest
from pathlib import Path
from unittest import mock

from torture.content import digest
from torture.pages import BROWSER, SERVER, TAB, PagePlan, PageRounds
from torture.program import Broken
from torture.tally import Tally


class PagePlanTests(unittest.TestCase):
    def test_a_seed_decides_everything(self) -> None:
        plans = [PagePlan.make(random.Random(seed)) for seed in range(100)]
        self.assertEqual(plans, [PagePlan.make(random.Random(seed)) for seed in range(100)])
        victims = {victim for plan in plans for blow in plan.blows for victim in blow.victims}
        self.assertEqual(victims, {SERVER, TAB, BROWSER})
        for plan in plans:
            self.assertEqual(len({name for name, _ in plan.files}), len(plan.files))
            self.assertTrue(any(size > 8 << 20 for _, size in plan.files))


class PromiseTests(unittest.TestCase):
    def setUp(self) -> None:
        place = tempfile.TemporaryDirectory()
        self.addCleanup(place.cleanup)
        self.rounds = PageRounds(Path("transfer"), Path(place.name) / "rounds", Tally(), lambda _: None)
        self.store = self.rounds.directory / "store"
        self.rounds._dropped = {"r0/a": digest(b"a"), "r0/b": digest(b"b")}

    def note(self, *rows: tuple[str, str, str]) -> None:
        with mock.patch.object(self.rounds, "_rows", return_value=[list(row) for row in rows]):
            self.rounds._note()

    def test_what_the_page_calls_stored_is_there(self) -> None:
        (self.store / "r0").mkdir()
        (self.store / "r0" / "a").write_bytes(b"a")
        self.note(("checked", "r0/a", "Checked, stored as r0/a"), ("sending", "r0/b", ""))
        self.rounds._look()
        self.note(("same", "r0/b", "Checked, was stored already with the same content"))
        with self.assertRaisesRegex(Broken, "acknowledged and not there"):
            self.rounds._look()

    def test_other_content_and_second_copies_are_found(self) -> None:
        for name, content in (("a", b"half"), ("a-1", b"a")):
            (self.store / "r0").mkdir(exist_ok=True)
            (self.store / "r0" / name).write_bytes(content)
            with self.assertRaises(Broken):
                self.rounds._look()
            (self.store / "r0" / name).unlink()

    def test_another_name_is_found(self) -> None:
        with self.assertRaisesRegex(Broken, "stored elsewhere"):
            self.note(("checked", "r0/a", "Checked, stored as r0/a-1"))
