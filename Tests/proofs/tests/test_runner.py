from __future__ import annotations

import os
import select
import signal
import tempfile
import unittest
from collections.abc import Callable, Sequence
from pathlib import Path

from proofs import check
from proofs.history import History
from proofs.proof import Item, Progress, Proof, Settings, one_after_the_other
from proofs.runner import Choice, Runner
from proofs.state import Busy, State
from proofs.table import Row, Table

_DOCUMENT = """\
# Proofs

| proof | command | commit | date | duration | figures | findings |
|---|---|---|---|---|---|---|
"""
_ALL = Choice(only={}, seconds=None, again=False)


class _History(History):
    """A history without git: all paths have the same files at commits of the same letter."""

    def __init__(self) -> None:
        super().__init__(Path("/"))
        self.commit: str | None = "aaaaaaa"
        self.changed = False
        self.ages: dict[str, int] = {}

    def head(self) -> str | None:
        return self.commit

    def is_changed(self, paths: Sequence[str]) -> bool:
        return self.changed

    def is_same(self, commit: str, paths: Sequence[str]) -> bool:
        return commit == self.commit

    def age(self, commit: str, paths: Sequence[str]) -> int | None:
        return self.ages.get(commit, 0 if commit == self.commit else None)


def _proof(key: str, *scripts: str, finding: str = "", limit: float = 100) -> Proof:
    """A proof whose items are shell scripts, and which counts the steps that they print."""
    items = [Item(f"part-{number + 1}", ["sh", "-c", script], {"WORD": key}, limit) for number, script in enumerate(scripts)]
    return Proof(
        key, f"{key} holds", ("Sources",), lambda settings: f"make {key}" + (f" {settings.each}" if settings.each else ""),
        one_after_the_other(lambda progress, older, settings: items),
        {"steps": r"(\d[\d,]*) steps", "lines": r"^line$"}, r"^name (\w+)", finding,
    )


class RunnerTests(unittest.TestCase):
    def setUp(self) -> None:
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.directory = Path(directory.name)
        self.document = self.directory / "proofs.md"
        self.document.write_text(_DOCUMENT, encoding="utf-8")
        self.history = _History()
        self.now = 0.0
        self.said: list[str] = []

    def _run(self, *proofs: Proof, choice: Choice = _ALL, settings: Settings = Settings(None, 1, 7)) -> int:
        """A run after a new start of the program."""
        state = State(self.directory / "state", self.directory / "proofs.json")
        state.open()
        self.addCleanup(state.close)
        runner = Runner(
            self.directory, self.directory / "state", proofs, Table.read(self.document), state, self.history, settings,
            clock=lambda: self.now, say=self.said.append,
        )
        try:
            return runner.run(choice)
        finally:
            state.close()

    @property
    def _rows(self) -> dict[str, Row]:
        return Table.read(self.document).rows

    def _ran(self) -> list[str]:
        path = self.directory / "ran"
        return path.read_text(encoding="utf-8").split() if path.exists() else []

    def _passing(self, seconds: float) -> Callable[[], float]:
        """A clock that advances by that many seconds at each reading."""
        def clock() -> float:
            self.now += seconds
            return self.now
        return clock

    def test_a_row_has_what_was_counted(self) -> None:
        proof = _proof("simulator", "echo 1,200 steps; echo line", "echo 34 steps; echo $WORD")
        self.assertEqual(self._run(proof), 0)
        row = self._rows["simulator"]
        self.assertEqual((row.command, row.commit, row.figures, row.findings),
                         ("make simulator", "aaaaaaa", "1,234 steps, 1 lines", "none"))
        log = self.directory / "state" / "logs" / "simulator" / "part-2.log"
        self.assertEqual(log.read_text(encoding="utf-8"), "34 steps\nsimulator\n")

    def test_a_finding_does_not_end_the_others(self) -> None:
        proofs = _proof("one", "echo '✘ it is gone'; exit 3", "echo 5 steps", finding=r"^✘ (.*)$"), _proof("two", "true")
        self.assertEqual(self._run(*proofs), 1)
        self.assertEqual(self._rows["one"].findings, "it is gone")
        self.assertEqual(self._rows["one"].figures, "5 steps")
        self.assertEqual(self._rows["two"].findings, "none")

    def test_a_failure_without_words_names_its_log(self) -> None:
        self._run(_proof("one", "exit 3"))
        self.assertEqual(self._rows["one"].findings, "part-1 ended with 3, see state/logs/one/part-1.log")

    def test_many_findings_are_counted(self) -> None:
        self._run(_proof("one", "for n in 1 2 3 4 5 6 6; do echo bad $n; done; exit 1", finding=r"^(bad .)$"))
        self.assertEqual(self._rows["one"].findings,
                         "bad 1; bad 2; bad 3; bad 4; 2 more of part-1, see state/logs/one/part-1.log")

    def test_words_of_a_command_that_passes_are_no_finding(self) -> None:
        self.assertEqual(self._run(_proof("one", "echo bad", finding="^(bad)$")), 0)
        self.assertEqual(self._rows["one"].findings, "none")

    def test_a_command_that_hangs_is_ended_with_all_that_it_has_started(self) -> None:
        os.mkfifo(self.directory / "open")
        reader = os.open(self.directory / "open", os.O_RDONLY | os.O_NONBLOCK)
        self.addCleanup(os.close, reader)
        self._run(_proof("one", "exec 3>open; tail -f /dev/null & wait", limit=0.2))
        self.assertIn("part-1 did not end", self._rows["one"].findings)
        # The other end is closed when the last of the processes has ended.
        self.assertEqual(select.select([reader], [], [], 60), ([reader], [], []))
        self.assertEqual(os.read(reader, 1), b"")

    def test_a_command_that_is_not_there_is_a_finding(self) -> None:
        item = Item("all", ["scripts/no-such-script.sh"])
        proof = Proof("one", "", ("Sources",), lambda settings: "make one", one_after_the_other(lambda *_: [item]))
        self.assertEqual(self._run(proof), 1)
        self.assertIn("all ended with 127", self._rows["one"].findings)

    def test_what_is_proven_is_not_run_again(self) -> None:
        proof = _proof("one", "echo x >>ran")
        self._run(proof)
        self._run(proof)
        self.assertEqual(self._ran(), ["x"])
        self._run(proof, choice=Choice({}, None, again=True))
        self.assertEqual(self._ran(), ["x", "x"])
        self.history.commit = "bbbbbbb"
        self._run(proof)
        self.assertEqual(self._ran(), ["x"] * 3)
        self.assertEqual(self._rows["one"].commit, "bbbbbbb")
        self._run(proof, settings=Settings(5, 1, 7))
        self.assertEqual(self._ran(), ["x"] * 4)

    def test_findings_that_are_known_are_findings(self) -> None:
        proof = _proof("one", "echo x >>ran; exit 1")
        self.assertEqual([self._run(proof), self._run(proof)], [1, 1])
        self.assertEqual(self._ran(), ["x"])

    def test_only_some(self) -> None:
        proofs = _proof("one", "echo 1 >>ran", "echo 2 >>ran", "echo 3 >>ran"), _proof("two", "echo 4 >>ran")
        self._run(*proofs, choice=Choice({"two": ()}, None, False))
        self.assertEqual(self._ran(), ["4"])
        self._run(*proofs, choice=Choice({"one": ["part-2"]}, None, False))
        self.assertEqual(self._ran(), ["4", "2"])
        self.assertEqual(list(self._rows), ["two"])
        self._run(*proofs)
        self.assertEqual(self._ran(), ["4", "2", "1", "3"])
        self.assertEqual(list(self._rows), ["one", "two"])

    def test_a_part_that_is_not_there_is_said(self) -> None:
        self.assertEqual(self._run(_proof("one", "echo 1 >>ran"), choice=Choice({"one": ["part-9"]}, None, False)), 0)
        self.assertEqual(self._ran(), [])
        self.assertIn("one: nothing is left to run of part-9", self.said)

    def test_no_command_begins_when_the_time_is_over(self) -> None:
        proofs = _proof("one", "echo 1 >>ran", "echo 2 >>ran"), _proof("two", "echo 3 >>ran")
        state = State(self.directory / "state", self.directory / "proofs.json")
        state.open()
        runner = Runner(
            self.directory, self.directory / "state", proofs, Table.read(self.document), state, self.history,
            Settings(None, 1, 7), clock=self._passing(1), say=self.said.append,
        )
        # The clock is read when the run and the proof begin, before the first part, and at both ends of the part.
        self.assertEqual(runner.run(Choice({}, 4, False)), 0)
        state.close()
        self.assertEqual(self._ran(), ["1"])
        self.assertEqual(self._rows, {})
        self._run(*proofs, settings=Settings(None, 1, 8))
        self.assertEqual(self._ran(), ["1", "2", "3"])
        self.assertIn("one: goes on behind part-1, seed 7, parts from aaaaaaa on", self.said)

    def test_an_ended_run_goes_on_with_the_command_that_it_was_at(self) -> None:
        proof = _proof("one", "echo 1 >>ran", "echo 2 >>ran; test -e again || kill -TERM $PPID", "echo 3 >>ran")
        with _interrupted_by_terminations(), self.assertRaises(KeyboardInterrupt):
            self._run(proof)
        self.assertEqual(self._rows, {})
        (self.directory / "again").touch()
        self._run(proof)
        self.assertEqual(self._ran(), ["1", "2", "2", "3"])

    def test_a_run_goes_on_with_later_sources(self) -> None:
        """The row names the first of the commits. Parts with findings are run again, because the cause may be fixed."""
        proof = _proof("one", "echo 1 >>ran; echo 5 steps", "echo 2 >>ran; test -e mended", "echo 3 >>ran")
        for part in ["part-1", "part-2"]:
            self._run(proof, choice=Choice({"one": [part]}, None, False))
        self.history.commit, self.history.ages = "bbbbbbb", {"aaaaaaa": check.OLD}
        (self.directory / "mended").touch()
        self.assertEqual(self._run(proof), 0)
        self.assertEqual(self._ran(), ["1", "2", "2", "3"])
        row = self._rows["one"]
        self.assertEqual((row.commit, row.figures, row.findings),
                         ("aaaaaaa", "5 steps; parts from aaaaaaa to bbbbbbb", "none"))
        self.assertFalse((self.directory / "proofs.json").exists())

    def test_sources_that_are_too_far_away_begin_anew(self) -> None:
        proof = _proof("one", "echo 1 >>ran", "echo 2 >>ran")
        for commit, ages in [("bbbbbbb", {}), ("ccccccc", {"bbbbbbb": check.OLD + 1})]:
            self._run(proof, choice=Choice({"one": ["part-1"]}, None, False))
            self.history.commit, self.history.ages = commit, ages
        self._run(proof)
        self.assertEqual(self._ran(), ["1", "1", "1", "2"])
        self.assertEqual(self._rows["one"].commit, "ccccccc")

    def test_another_command_begins_anew(self) -> None:
        proof = _proof("one", "echo 1 >>ran", "echo 2 >>ran")
        self._run(proof, choice=Choice({"one": ["part-1"]}, None, False))
        self._run(proof, settings=Settings(5, 1, 7))
        self.assertEqual(self._ran(), ["1", "1", "2"])

    def test_sources_that_change_meanwhile_end_a_proof(self) -> None:
        history = self.history
        items = [Item("a", ["true"]), Item("b", ["true"])]

        def following(progress: Progress, older: str, settings: Settings) -> Item | None:
            if progress.results:
                history.commit = "bbbbbbb"
            return next((item for item in items if not progress.has(item.name)), None)

        proof = Proof("one", "", ("Sources",), lambda settings: "make one", following)
        self.assertEqual(self._run(proof), 2)
        self.assertEqual(self._rows, {})

    def test_sources_that_no_commit_has_are_not_proven(self) -> None:
        self.history.changed = True
        self.assertEqual(self._run(_proof("one", "echo 1 >>ran")), 2)
        self.history.changed, self.history.commit = False, None
        self.assertEqual(self._run(_proof("one", "echo 1 >>ran")), 2)
        self.assertEqual(self._ran(), [])

    def test_one_that_is_run_until_there_is_enough(self) -> None:
        def following(progress: Progress, older: str, settings: Settings) -> Item | None:
            done = progress.total("steps")
            return None if done >= 100 else Item(f"from-{done}", ["sh", "-c", "echo 40 steps"])

        proof = Proof("one", "", ("Sources",), lambda settings: "make one", following, {"steps": r"(\d+) steps"})
        self._run(proof)
        self.assertEqual(self._rows["one"].figures, "120 steps")

    def test_two_runs_are_not_made_at_once(self) -> None:
        state = State(self.directory / "state", self.directory / "proofs.json")
        state.open()
        self.addCleanup(state.close)
        with self.assertRaises(Busy):
            self._run(_proof("one", "true"))

    def test_a_damaged_state_counts_as_empty(self) -> None:
        for text in ["", "[]", "{", '{"one": {}}', '{"one": {"commit": "a", "seed": 1, "command": "", "results": [{}]}}']:
            (self.directory / "proofs.json").write_text(text, encoding="utf-8")
            state = State(self.directory / "state", self.directory / "proofs.json")
            with self.subTest(text):
                state.load()
                self.assertEqual(state.progress, {})

    def test_old_rows_are_said(self) -> None:
        self._run(_proof("one", "true"))
        self.history.commit = "bbbbbbb"
        self._run(_proof("two", "exit 1"))
        proofs = _proof("one", "true"), _proof("two", "true"), _proof("three", "true")
        self.history.ages = {"aaaaaaa": check.OLD, "bbbbbbb": check.OLD + 1}
        lines = check.lines(proofs, Table.read(self.document), self.history)
        self.assertEqual(len(lines), 3)
        self.assertEqual(lines[0], "docs/proofs.md has no row of three")
        self.assertTrue(lines[1].startswith("two: 201 commits have touched what it covers since bbbbbbb"))
        self.assertTrue(lines[2].startswith("two: its row has findings: part-1 ended with 1"))
        self.history.ages = {"bbbbbbb": 0}
        lines = check.lines(proofs[:2], Table.read(self.document), self.history)
        self.assertIn("the history here does not have the commits of one (aaaaaaa), so their age is unknown", lines)


class _interrupted_by_terminations:
    """Interrupts the test on SIGTERM, as the program does."""

    def __enter__(self) -> None:
        def interrupt(number: int, frame: object) -> None:
            raise KeyboardInterrupt

        self._before = signal.signal(signal.SIGTERM, interrupt)

    def __exit__(self, *reason: object) -> None:
        signal.signal(signal.SIGTERM, self._before)
