from __future__ import annotations

import json
import random
import tempfile
import unittest
from pathlib import Path

from torture.machines import Machine, MachineRoundPlan, Machines, MachineStep
from torture.plan import Victim
from torture.program import Broken
from torture.tally import Tally


class MachineRoundPlanTests(unittest.TestCase):
    def test_a_seed_decides_everything(self) -> None:
        plans = [MachineRoundPlan.make(random.Random(seed)) for seed in range(100)]
        self.assertEqual(plans, [MachineRoundPlan.make(random.Random(seed)) for seed in range(100)])
        steps = [step for plan in plans for step in plan.steps]
        self.assertEqual({step.machine for step in steps}, {0, 1})
        self.assertEqual({step.pushes for step in steps}, {False, True})
        self.assertEqual({kill.victim for step in steps for kill in step.kills}, set(Victim))
        self.assertTrue(any("--delete" in step.flags for step in steps))


class MachineTests(unittest.TestCase):
    def test_no_two_contents_are_the_same(self) -> None:
        with tempfile.TemporaryDirectory() as directory:
            machine = Machine(Path(directory), random.Random(1))
            seen: set[str] = set()
            for _ in range(100):
                machine.edit(0)
                seen.update(machine.digests().values())
            self.assertGreater(len(seen), 30)
            self.assertEqual([path.name for path in machine.files.rglob(".edit-*")], [])


class _Idle:
    """A server that does nothing."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory

    def lose_clients(self) -> None:
        pass

    def abandon(self) -> None:
        pass


class AcknowledgedTests(unittest.TestCase):
    def setUp(self) -> None:
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.machines = Machines(Path("transfer"), Path(directory.name) / "m", Tally(), random.Random(1), False, print)
        self.machines._server = _Idle(Path(directory.name) / "m" / "store")  # type: ignore[assignment]
        self.machine = self.machines._machines[0]
        (self.machine.files / "a").write_bytes(b"content")
        self.step = MachineStep(machine=0, pushes=True, edits=0, skew=0, flags=(), kills=())

    def said(self, action: str, result: str, copy: str | None = None) -> None:
        line = {"action": action, "path": "a", "result": result, "copy": copy, "dryRun": False}
        self.machines._note(self.step, self.machine, self.machine.digests(), json.dumps(line).encode())

    def stored(self, path: str) -> None:
        place = self.machines._server.directory / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(b"content")

    def test_what_was_acknowledged_has_to_be_somewhere(self) -> None:
        self.said("new", "completed")
        (self.machine.files / "a").write_bytes(b"other")
        with self.assertRaises(Broken):
            self.machines._look()
        for path in (".transfer/trash/2026-01-01T00-00-00Z-00000000/shared/a", "shared/a.conflict-b"):
            self.stored(path)
            self.machines._look()
            (self.machines._server.directory / path).unlink()
        self.stored(".transfer/incoming/a")
        with self.assertRaises(Broken):
            self.machines._look()

    def test_what_was_refused_is_nobodys(self) -> None:
        self.said("changed", "pathConflict")
        self.said("conflict", "pathConflict")
        (self.machine.files / "a").unlink()
        self.machines._look()
        with self.assertRaises(Broken):
            self.said("changed", "storageFailed")

    def test_a_copy_of_a_conflict_is_acknowledged(self) -> None:
        self.said("conflict", "pathConflict", copy="a.conflict-b")
        (self.machine.files / "a").unlink()
        with self.assertRaises(Broken):
            self.machines._look()
