from __future__ import annotations

import shutil
import tempfile
import unittest
from pathlib import Path

from bench import names
from bench.corpus import Corpus
from bench.peers import Peer, Place
from bench.processes import CommandFailed, Processes
from bench.steps import STEPS, Course, change_files, run_courses


class _Copier(Peer):
    """Copies the tree there and back, and records the calls."""

    promise = "nothing"

    def __init__(self, place: Place, name: str, events: list[str]) -> None:
        super().__init__(place)
        self.name, self._events = name, events

    def arm(self) -> None:
        self._events.append(f"{self.name} armed")

    def push(self) -> None:
        self._events.append(f"{self.name} push")
        shutil.copytree(self.place.corpus.root, self.place.target, dirs_exist_ok=True)

    def pull(self, output: Path) -> None:
        self._events.append(f"{self.name} pull")
        shutil.copytree(self.place.target, output, dirs_exist_ok=True)

    def disarm(self) -> None:
        self._events.append(f"{self.name} disarmed")


class _Forgetful(_Copier):
    """Pushes only into an empty target."""

    def push(self) -> None:
        if not any(self.place.target.iterdir()):
            super().push()


class _Broken(_Copier):
    def pull(self, output: Path) -> None:
        raise CommandFailed("it is broken")


class StepTests(unittest.TestCase):
    def setUp(self) -> None:
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        root = Path(directory.name)
        for name in ("source", "target", "output", "logs"):
            (root / name).mkdir()
        self.tree, self.output = root / "source" / "tree", root / "output"
        for number in range(30):
            (self.tree / f"{number:02}").mkdir(parents=True)
            (self.tree / f"{number:02}" / "file").write_bytes(bytes(100))
        self.place = Place(Processes(root / "logs"), root, Corpus(root / "source"), root / "target")
        self.events: list[str] = []
        self.said: list[str] = []

    def run_all(self, *courses: Course, runs: int = 1, warms_up: bool = True) -> None:
        run_courses(courses, self.tree, runs, self.said.append, warms_up)

    def test_programs_take_turns_and_every_step_has_its_figures(self) -> None:
        courses = [Course(_Copier(self.place, name, self.events), self.output) for name in ("a", "b")]
        self.run_all(*courses, runs=2)
        one = ["armed", "push", "push", "push", "pull", "pull", "disarmed"]
        both = [f"{name} {event}" for name in ("a", "b") for event in one]
        self.assertEqual(self.events, both * 3)
        for course in courses:
            self.assertEqual([len(course.series[step].samples) for step in STEPS], [2] * 5)
        self.assertEqual(self.said, [])

    def test_without_a_warm_up_the_first_run_counts(self) -> None:
        course = Course(_Copier(self.place, "a", self.events), self.output)
        self.run_all(course, warms_up=False)
        self.assertEqual([len(course.series[step].samples) for step in STEPS], [1] * 5)

    def test_who_fails_has_no_figures_and_the_step_says_why(self) -> None:
        broken = Course(_Broken(self.place, "broken", self.events), self.output)
        sound = Course(_Copier(self.place, "a", self.events), self.output)
        self.run_all(broken, sound, runs=2, warms_up=False)
        self.assertEqual(broken.series[names.PULL].failure, "it is broken")
        self.assertEqual([len(broken.series[step].samples) for step in STEPS], [0] * 5)
        self.assertEqual([len(sound.series[step].samples) for step in STEPS], [2] * 5)
        self.assertEqual(self.said, ["  broken: it is broken"])

    def test_a_change_that_was_not_pushed_is_a_failure(self) -> None:
        course = Course(_Forgetful(self.place, "a", self.events), self.output)
        self.run_all(course)
        self.assertRegex(course.series[STEPS[-1]].failure or "", "arrived with other bytes")

    def test_each_run_changes_ten_other_files(self) -> None:
        def changed() -> set[int]:
            return {number for number in range(30) if any((self.tree / f"{number:02}" / "file").read_bytes())}

        change_files(self.tree, 0)
        self.assertEqual(changed(), set(range(10)))
        change_files(self.tree, 1)
        self.assertEqual(changed(), set(range(20)))
