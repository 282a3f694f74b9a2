from __future__ import annotations

import contextlib
import io
import unittest

from bench.options import PROJECT, QUICK_SETS, Options

_KNOWN = ["big", "photos", "small", "text", "memory"]


class OptionsTests(unittest.TestCase):
    def parse(self, *arguments: str) -> Options:
        return Options.parse(list(arguments), _KNOWN)

    def test_without_options_everything_is_measured_into_the_documents(self) -> None:
        options = self.parse()
        self.assertEqual((options.sets, options.runs, options.command), (_KNOWN, 5, "make bench"))
        self.assertEqual(options.output, PROJECT / "docs")

    def test_a_part_does_not_replace_the_documents(self) -> None:
        for arguments in (["--quick"], ["--set", "big"]):
            with self.subTest(arguments):
                self.assertEqual(self.parse(*arguments).output, PROJECT / ".build" / "benchmarks")

    def test_what_runs_on_request_runs_only_when_it_is_named(self) -> None:
        known = [*_KNOWN, "million"]
        options = Options.parse([], known, ["million"])
        self.assertEqual((options.sets, options.output), (_KNOWN, PROJECT / "docs"))
        named = Options.parse(["--set", "million"], known, ["million"])
        self.assertEqual((named.sets, named.output), (["million"], PROJECT / ".build" / "benchmarks"))
        everything = Options.parse(["--set", ",".join(known)], known, ["million"])
        self.assertEqual(everything.output, PROJECT / "docs")

    def test_quick(self) -> None:
        options = self.parse("--quick")
        self.assertEqual((options.sets, options.runs), (QUICK_SETS, 3))
        self.assertEqual(self.parse("--quick", "--runs", "7").runs, 7)

    def test_sets_run_in_their_own_order(self) -> None:
        self.assertEqual(self.parse("--set", "small,big").sets, ["big", "small"])

    def test_the_command_can_be_repeated(self) -> None:
        options = self.parse("--set", "big,small", "--runs", "5")
        self.assertEqual(options.command, "make bench BENCH='--set big,small --runs 5'")

    def test_mistakes_end_the_program(self) -> None:
        for arguments in (["--set", "bigger"], ["--runs", "-1"], ["--what"]):
            with self.subTest(arguments), contextlib.redirect_stderr(io.StringIO()), self.assertRaises(SystemExit):
                self.parse(*arguments)
