from __future__ import annotations

import unittest

from mutants.mutant import Kind, Mutant
from mutants.options import Options
from mutants.suites import End, Run
from mutants.tally import Tally


def _mutant(number: int, excuse: str = "") -> Mutant:
    file = "Sources/TransferStore/A.swift"
    return Mutant(number, file, Kind.EXPRESSION, "a", "b", "", "^A", "a name is synced", excuse)


def _run(end: End, *failed: str) -> Run:
    return Run(end, 2.0, 5, failed, "")


class TallyTests(unittest.TestCase):
    def test_all_are_noticed(self) -> None:
        tally = Tally()
        line = tally.add(_mutant(3), _run(End.FAILED, "a", "b", "c"))
        self.assertIn("a test failed: a, b and 1 more; 2 s", line)
        tally.add(_mutant(4), _run(End.CRASHED))
        self.assertTrue(tally.is_good)
        self.assertEqual(tally.line, "2 noticed (1 by a failing test, 1 by a crash)")

    def test_the_time_limit_says_how_long_the_suite_takes(self) -> None:
        self.assertIn("the time limit; 2 s, 1 s with no mutant", Tally().add(_mutant(3), _run(End.LATE), usual=1.2))

    def test_one_is_not_noticed(self) -> None:
        tally = Tally()
        self.assertIn("UNNOTICED", tally.add(_mutant(3), _run(End.PASSED)))
        self.assertFalse(tally.is_good)
        self.assertIn("1 NOT NOTICED: 3", tally.line)

    def test_one_is_explained(self) -> None:
        tally = Tally()
        self.assertIn("nobody can", tally.add(_mutant(3, "nobody can"), _run(End.PASSED)))
        self.assertTrue(tally.is_good)


class OptionsTests(unittest.TestCase):
    def test_what_is_chosen(self) -> None:
        for arguments, expected in [([], True), (["3"], True), (["1-5"], True), (["TransferStore"], True),
                                    (["4 A.swift"], True), (["30"], False), (["TransferIO"], False)]:
            with self.subTest(arguments):
                self.assertEqual(Options.parse(arguments).chooses(_mutant(3)), expected)
