from __future__ import annotations

import os
import re
import subprocess
import unittest
from pathlib import Path

from mutants import listing
from proofs.catalogue import PROJECT, PROOFS, numbers, ranges
from proofs.proof import Item, Progress, Proof, Result, Settings
from proofs.options import Options
from proofs.table import Table

_SETTINGS = Settings(None, 2, 7)


def _proof(key: str) -> Proof:
    return next(proof for proof in PROOFS if proof.key == key)


def _judge(key: str, output: str, status: int = 0) -> Result:
    return _proof(key).judge(Item("all", ["true"]), status, 1, output, "log")


def _items(key: str, older: str = "", seed: int = 7) -> list[Item]:
    """All items of a proof whose parts are known when it begins."""
    progress = Progress("aaaaaaa", seed, "")
    found = []
    while (item := _proof(key).next(progress, older, _SETTINGS)) is not None:
        found.append(item)
        progress.results.append(Result(item.name, 0, 0, {}, (), ()))
    return found


class CatalogueTests(unittest.TestCase):
    def test_all_have_other_names(self) -> None:
        self.assertEqual(len({proof.key for proof in PROOFS}), len(PROOFS))

    def test_what_they_cover_is_there(self) -> None:
        for proof in PROOFS:
            for path in proof.covers:
                self.assertTrue((PROJECT / path).exists(), f"{proof.key} covers {path}")

    def test_targets_are_there(self) -> None:
        targets = (PROJECT / "Makefile").read_text(encoding="utf-8")
        for proof in PROOFS:
            item = proof.next(Progress("aaaaaaa", 7, ""), "", _SETTINGS)
            self.assertIsNotNone(item, proof.key)
            words = list(item.command) if item else []
            if words[0] == "make":
                self.assertIn(f"\n{words[1]}:", targets)

    def test_attacks_are_full_and_meet_the_release(self) -> None:
        """A variable in front of `$(swift)` would only affect the search for the compiler."""
        # This test may run inside another make, whose flags must have no effect.
        surroundings = {name: value for name, value in os.environ.items() if not name.startswith("MAKE") and name != "MFLAGS"}
        recipe = subprocess.run(
            ["make", "--no-print-directory", "-n", "attack"], cwd=PROJECT, env=surroundings, capture_output=True, text=True, check=True
        ).stdout
        line = next(line for line in recipe.replace("\\\n", "").splitlines() if " test --skip-build" in line)
        line = line.replace("$(scripts/swift-path.sh)", "env")
        seen = subprocess.run(["sh", "-c", line.partition(" test ")[0]], cwd=PROJECT, capture_output=True, text=True, check=True)
        self.assertIn("TRANSFER_ATTACK=full\n", seen.stdout)
        self.assertIn(f"TRANSFER_BINARY={PROJECT}/.build/release/transfer\n", seen.stdout)

    def test_the_document_has_the_table(self) -> None:
        rows = Table.read(PROJECT / "docs" / "proofs.md").rows
        self.assertLessEqual(set(rows), {proof.key for proof in PROOFS})

    def test_each_fuzz_target_is_a_part(self) -> None:
        names = [item.name for item in _items("fuzz")]
        self.assertEqual(names, sorted(path.name for path in (PROJECT / "Fuzz" / "seeds").iterdir()))
        self.assertIn("SECONDS=600", _items("fuzz")[0].command)

    def test_the_sanitizer_has_every_suite_of_swift_once(self) -> None:
        items = _items("thread-sanitizer")
        suites = [suite for item in items for suite in item.environment["TRANSFER_SUITES"].split()]
        script = (PROJECT / "scripts" / "run-tests.sh").read_text()
        named = set(re.findall(r"begin_swift (Transfer\w+:[\w-]+)", script))
        targets = {path.parent.name for path in (PROJECT / "Tests").glob("**/Transfer*Tests/*")}
        self.assertEqual(sorted(suites), sorted(named | targets))
        self.assertEqual({" ".join(item.command) for item in items}, {"make test-tsan"})

    def test_repeated_tests_are_a_part_each(self) -> None:
        items = _items("repeated-tests")
        self.assertEqual(len(items), 11)
        self.assertEqual((items[0].command, items[0].environment), (["scripts/repeat-tests.sh", "1"], {"PINNED": "0"}))
        self.assertEqual((items[-1].command, items[-1].environment), (["scripts/repeat-tests.sh", "0"], {}))

    def test_parts_of_torture_have_seeds_of_their_own(self) -> None:
        commands = [" ".join(item.command) for item in _items("torture")]
        self.assertEqual(len(commands), 10)
        self.assertEqual(
            commands[1],
            "make torture ROUNDS=200 SEED=8 CUTS=24 DELIVERIES=24 WEB=24 PAGES=24 SYNCS=24 MACHINES=24 NEIGHBOURS=24",
        )

    def test_the_simulator_runs_until_there_are_enough_steps(self) -> None:
        proof, progress = _proof("simulator"), Progress("aaaaaaa", 7, "")
        commands = []
        while (item := proof.next(progress, "", _SETTINGS)) is not None:
            commands.append(" ".join(item.command))
            progress.results.append(Result(item.name, 1, 600, {"steps": 40_000_000}, (), ("1 x",)))
        self.assertEqual(commands, [
            f"scripts/simulate.sh --jobs 2 --keep-going --quick --seconds 600 --seed {seed}000000" for seed in (7, 8, 9)
        ])

    def test_a_part_of_the_simulator_that_is_run_again_has_its_own_seeds(self) -> None:
        results = [Result(f"part-{number}", 0, 600, {"steps": 1}, (), ("a is gone",) if number == 2 else ()) for number in (1, 2, 3)]
        progress = Progress("aaaaaaa", 7, "", results)
        progress.go_on("bbbbbbb")
        numbers = []
        while len(numbers) < 2 and (item := _proof("simulator").next(progress, "", _SETTINGS)) is not None:
            numbers.append((item.name, item.command[-1]))
            progress.results.append(Result(item.name, 0, 600, {"steps": 1}, (), ()))
        self.assertEqual(numbers, [("part-2", "8000000"), ("part-4", "10000000")])

    def test_a_simulator_that_makes_no_step_is_not_run_for_ever(self) -> None:
        progress = Progress("aaaaaaa", 7, "", [Result("part-1", 2, 1, {}, (), ("it does not build",))])
        self.assertIsNone(_proof("simulator").next(progress, "", _SETTINGS))


class MutantTests(unittest.TestCase):
    def setUp(self) -> None:
        self.listed = {mutant.number for mutant in listing.read(PROJECT / "Tests" / "mutants" / "list")}

    def _chosen(self, older: str, seed: int = 7) -> dict[str, list[int]]:
        chosen: dict[str, list[int]] = {"new": [], "drawn": []}
        for item in _items("mutants", older, seed):
            chosen[item.name.split()[0]] += map(int, item.command[2].removeprefix("MUTANTS=").split())
        return chosen

    def test_without_a_row_all_are_new(self) -> None:
        chosen = self._chosen("")
        self.assertEqual((sorted(chosen["new"]), chosen["drawn"]), (sorted(self.listed), []))

    def test_some_of_those_that_were_tried_are_drawn(self) -> None:
        tried = sorted(self.listed)[:-10]
        older = f"3 noticed, tried so far: {ranges([*tried, 99_999])}"
        first, other = self._chosen(older), self._chosen(older, seed=8)
        self.assertEqual(set(first["new"]), self.listed - set(tried))
        self.assertEqual(len(set(first["drawn"])), 150)
        self.assertLessEqual(set(first["drawn"]), set(tried))
        self.assertEqual(self._chosen(older), first)
        self.assertNotEqual(first["drawn"], other["drawn"])

    def test_those_of_another_list_are_tried_once(self) -> None:
        """A run that continues with a longer list runs the mutants that were not run."""
        progress = Progress("aaaaaaa", 7, "", [Result(f"new {ranges(sorted(self.listed)[5:])}", 0, 1, {}, (), ())])
        item = _proof("mutants").next(progress, "", _SETTINGS)
        self.assertEqual(set(item.command[2].split("=")[1].split() if item else []), {str(number) for number in sorted(self.listed)[:5]})

    def test_the_row_says_what_was_tried(self) -> None:
        result = _judge("mutants", (
            "noticed     3 TransferStore/A.swift: a name is synced (a test failed: a; 2 s)\n"
            "excused     4 TransferStore/A.swift: b (nobody can)\n"
            "UNNOTICED    5 TransferStore/A.swift: c (^A, 5 tests, 2 s)\n"
            "mutants: 1 noticed (1 by a failing test), 1 NOT NOTICED: 5; 9 s\n"), 1)
        self.assertEqual(result.names, ["3", "4", "5"])
        self.assertEqual(result.findings, ["UNNOTICED 5 TransferStore/A.swift: c (^A, 5 tests, 2 s)"])
        figures = _proof("mutants").figures(Progress("aaaaaaa", 7, "", [result]), "tried so far: 1 9-10")
        self.assertEqual(figures, "1 noticed, 1 that no test can notice, 1 not noticed, 150 at most drawn by seed 7; "
                                  "tried so far: 1 3-5 9-10")
        self.assertEqual(numbers(figures), {1, 3, 4, 5, 9, 10})

    def test_ranges(self) -> None:
        for text in ["", "1", "1-2", "1 3", "1-3 5 7-9"]:
            self.assertEqual(ranges(sorted(numbers(f"tried so far: {text}"))), text)


class OutputTests(unittest.TestCase):
    """The real output of the programs."""

    def test_the_simulator(self) -> None:
        result = _judge("simulator", (
            "the first seed is 40000\n"
            "10 s: 300 runs, 4000 steps, 50000 calls, 900 uploads acknowledged, now seed 40301\n"
            "# seed 40021: a is gone\n"
            "20 s: 394 runs, 55680 steps, 645582 calls, 5438 uploads acknowledged, 1 seeds break a promise, trace d7\n"
            "20 s: 6 runs, 320 steps, 4418 calls, 62 uploads acknowledged, trace d8\n"
            "1\t… is gone\t(40021)\n"), 1)
        self.assertEqual(result.counts, {
            "runs": 400, "steps": 56_000, "calls": 650_000, "uploads acknowledged": 5_500,
            "seeds that break a promise": 1})
        self.assertEqual(result.findings, ["1 … is gone (40021)"])

    def test_fuzzing(self) -> None:
        result = _judge("fuzz", "== frames, 5 s\n#8 DONE cov: 3 ft: 4\nstat::number_of_executed_units: 1234\n")
        self.assertEqual(result.counts, {"targets": 1, "executions": 1234})
        result = _judge("fuzz", "==1== ERROR\nFinding: it differs\nSUMMARY: libFuzzer: deadly signal\n", 1)
        self.assertEqual(result.findings, ["Finding: it differs", "SUMMARY: libFuzzer: deadly signal"])

    def test_torture(self) -> None:
        result = _judge("torture", (
            "torture: all promises kept: 200 rounds, 600 runs of push, 333 kills (1 of client; by acknowledgement: 1 between), "
            "9000 acknowledgements, 27000 files compared, 5 folders known, rounds on a failing disk: 20 on ext4, power cuts: "
            "90 on xfs (after 700 acknowledgements), 660 receipt files verified, deliveries: none, over HTTP: none, "
            "syncs: none, server at most 24 MiB and 0 descriptors more when idle than at its start; 60 s\n"))
        self.assertEqual(result.counts, {
            "rounds": 200, "runs of push": 600, "kills": 333, "acknowledgements": 9000, "files compared": 27000,
            "receipt files verified": 660})
        result = _judge("torture", "torture: seed 7, round 3: a is gone\ntorture: repeat it with: make torture\n", 1)
        self.assertEqual(result.findings, ["torture: seed 7, round 3: a is gone"])

    def test_suites(self) -> None:
        result = _judge("thread-sanitizer", (
            "✔ Test run with 12 tests in 3 suites passed after 0.1 seconds.\n"
            "\x1b[91m✘\x1b[0m Test aNameIsSynced() failed after 0.2 seconds with 1 issue.\nTest run with 8 tests failed\n"
            "WARNING: ThreadSanitizer: data race (pid=7)\n"), 1)
        self.assertEqual(result.counts, {"tests in Swift": 20})
        self.assertEqual(result.findings, ["Test aNameIsSynced()", "WARNING: ThreadSanitizer: data race (pid=7)"])
        result = _judge("http", "FAIL: test_a (web.tests.x.Y)\nRan 12 tests in 3.4s\n\nFAILED (failures=1, skipped=2)\n", 1)
        self.assertEqual((result.counts, result.findings), ({"tests": 12, "skipped": 2}, ["test_a (web.tests.x.Y)"]))

    def test_holes(self) -> None:
        result = _judge("holes", (
            "  22 TransferStore/A.swift: a name is synced\n       found after 0.3 s: run 1: seed 1: a is gone\n"
            " 104 TransferStore/B.swift: b\n       NOT FOUND in 60 s: needs more\n"
            "  29 TransferStore/C.swift: c\n       NOT FOUND in 60 s\n"
            "simulate-holes: median 0.3 s, longest 0.3 s\nsimulate-holes: 1 of 3 found, 1 of the others explained\n"), 1)
        self.assertEqual(result.counts, {"found": 1, "looked for": 3, "of the others explained": 1})
        self.assertEqual(result.findings, ["29 TransferStore/C.swift: c"])

    def test_an_hour_of_changes(self) -> None:
        result = _judge("watch", "seed 7: move, 1200 files, 1190 stored, 31 blows\n")
        self.assertEqual(result.counts, {"files": 1200, "stored": 1190, "blows": 31})


class OptionsTests(unittest.TestCase):
    def test_what_is_chosen(self) -> None:
        options = Options.parse(
            ["--only", "fuzz:frames fuzz:paths simulator", "--hours", "2", "--each", "5", "--seed", "9"], ["fuzz", "simulator"])
        self.assertEqual(options.choice.only, {"fuzz": ["frames", "paths"], "simulator": []})
        self.assertEqual((options.choice.seconds, options.settings.each, options.settings.seed), (7200, 5, 9))
        self.assertEqual(Options.parse([], ["fuzz"]).choice.only, {})
        self.assertIsNone(Options.parse([], ["fuzz"]).choice.seconds)
        self.assertEqual(options.document, Path(PROJECT) / "docs" / "proofs.md")

    def test_a_proof_that_there_is_not(self) -> None:
        with self.assertRaises(SystemExit):
            Options.parse(["--only", "fuz"], ["fuzz"])
