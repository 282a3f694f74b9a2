from __future__ import annotations

import stat
import tempfile
import time
import unittest
from pathlib import Path

from children import PATIENCE
from mutants.suites import End, Run, Suites, judge

_PASSED = """✔ Test aNameIsSynced() passed after 0.001 seconds.
✔ Test run with 12 tests in 3 suites passed after 0.1 seconds.
"""
_FAILED = """✘ Test aNameIsSynced() recorded an issue at A.swift:1:2: Expectation failed
✘ Test aNameIsSynced() failed after 0.001 seconds with 1 issue.
✘ Test "a name" failed after 0.001 seconds with 1 issue.
✘ Test each(number:) with 4 test cases failed after 0.001 seconds with 2 issues.
✘ Suite ATests failed after 0.001 seconds with 4 issues.
✘ Test run with 12 tests in 3 suites failed after 0.1 seconds with 4 issues.
"""


class JudgeTests(unittest.TestCase):
    def test_one_that_passes(self) -> None:
        run = judge(0, 1, _PASSED)
        self.assertEqual((run.end, run.tests, run.failed), (End.PASSED, 12, ()))

    def test_one_that_fails(self) -> None:
        run = judge(1, 1, _FAILED)
        self.assertEqual((run.end, run.tests), (End.FAILED, 12))
        self.assertEqual(run.failed, ("aNameIsSynced", "a name", "each"))

    def test_one_that_fails_in_a_thread_of_its_own(self) -> None:
        output = "✘ Test «unknown» recorded an issue at A.swift:67:17: Expectation failed: a == b\n"
        self.assertEqual(judge(1, 1, output).failed, ("A.swift",))

    def test_one_that_crashes_or_is_late(self) -> None:
        self.assertEqual(judge(-11, 1, "").end, End.CRASHED)
        self.assertEqual(judge(None, 1, "").end, End.LATE)


class SuitesTests(unittest.TestCase):
    def setUp(self) -> None:
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.program = Path(directory.name) / "program"

    def _run(self, script: str, limit: float = 180, mutant: int = 0) -> Run:
        self.program.write_text(f"#!/bin/sh\n{script}\n")
        self.program.chmod(self.program.stat().st_mode | stat.S_IXUSR)
        return Suites(self.program, self.program.parent, limit).run("^A", mutant)

    def test_the_mutant_and_the_filter_are_told(self) -> None:
        run = self._run('echo "$TRANSFER_MUTANT $4"', mutant=17)
        self.assertEqual((run.end, run.output.strip()), (End.PASSED, "17 ^A"))

    def test_what_it_leaves_is_removed(self) -> None:
        run = self._run('touch "$TMPDIR/a"; echo "$TMPDIR"')
        self.assertFalse(Path(run.output.strip()).exists())

    def test_one_that_hangs_is_ended_with_its_children(self) -> None:
        # The limit gives the script time to print the child's number, which is the last action.
        run = self._run("tail -f /dev/null & echo $!; wait", limit=3)
        self.assertEqual(run.end, End.LATE)
        deadline = time.monotonic() + PATIENCE
        while self._runs(run.output.strip()):
            self.assertLess(time.monotonic(), deadline)

    @staticmethod
    def _runs(process: str) -> bool:
        """A process that has ended may stay a zombie until init reaps it."""
        try:
            return Path(f"/proc/{process}/stat").read_text().rpartition(") ")[2][0] != "Z"
        except FileNotFoundError:
            return False

    def test_one_that_crashes(self) -> None:
        self.assertEqual(self._run("kill -SEGV $$").end, End.CRASHED)
