"""Runs of several steps, each of which continues from the result of the one before, by several programs in turn."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from pathlib import Path

from . import names, workspace
from .measure import Stopwatch
from .peers import Rsync, Transfer
from .processes import CommandFailed
from .resident import Peaks
from .results import Series
from .rounds import Say, attempt
from .verify import difference

STEPS = [names.FIRST_PUSH, names.PUSH_AGAIN, names.TEN_CHANGED, names.PULL, names.PULL_AGAIN]

_PULLS = {names.PULL, names.PULL_AGAIN}

# Number of files to change, each in another directory.
_CHANGED = 10


class Course:
    """The steps of one program, and the cost of each."""

    def __init__(self, peer: Transfer | Rsync, output: Path, peaks: Peaks | None = None) -> None:
        """Pulls go to `output`, which exists. `peaks` records the memory use of each step."""
        self.peer = peer
        self.series = {step: Series(peer.name, peer.promise) for step in STEPS}
        self._output = output
        self._peaks = peaks

    @property
    def is_in(self) -> bool:
        """Whether no step has failed."""
        return all(series.is_in for series in self.series.values())

    def prepare(self, say: Say) -> None:
        """Starts servers for all runs."""
        self._attempt(STEPS[0], self.peer.prepare, say)

    def run(self, tree: Path, number: int, counts: bool, say: Say) -> None:
        """Runs all steps from an empty target. The result of the first run is compared byte for byte."""
        workspace.empty(self.peer.place.target)
        workspace.empty(self._output)
        self._attempt(STEPS[0], self.peer.arm, say)
        for step in STEPS:
            if step == names.TEN_CHANGED:
                change_files(tree, number)
            self._attempt(step, partial(self._take, step, counts), say)
        if number == 0:
            self._attempt(STEPS[-1], self._compare, say)
        self._attempt(STEPS[-1], self.peer.disarm, say)

    def _attempt(self, step: str, action: Callable[[], None], say: Say) -> None:
        """Skips the action if an earlier step has failed. If this step fails, all samples are discarded."""
        if not self.is_in:
            return
        attempt(self.series[step], self.peer, action, say)
        if not self.is_in:
            for series in self.series.values():
                series.samples.clear()

    def _take(self, step: str, counts: bool) -> None:
        with self._watched(step), Stopwatch() as watch:
            if step in _PULLS:
                self.peer.pull(self._output)
            else:
                self.peer.push()
        if counts:
            self.series[step].samples.append(watch.sample)

    def _watched(self, step: str) -> AbstractContextManager[None]:
        if self._peaks and isinstance(self.peer, Transfer):
            return self._peaks.during(step, self.peer.server.pid)
        return nullcontext()

    def _compare(self) -> None:
        for where in (self.peer.place.target, self._output):
            if found := difference(self.peer.place.corpus.root, where):
                raise CommandFailed(found)


def run_courses(courses: Sequence[Course], tree: Path, runs: int, say: Say, warms_up: bool) -> None:
    """Runs every course in turn, `runs` times after a warm-up, if there is one. A failed course is skipped from then
    on."""
    for course in courses:
        course.prepare(say)
    for number in range(runs + 1 if warms_up else runs):
        for course in courses:
            if course.is_in:
                course.run(tree, number, number > 0 or not warms_up, say)


def change_files(tree: Path, number: int) -> None:
    """Overwrites one file in each of some directories of the tree. Each run chooses other directories."""
    directories = sorted(tree.iterdir())
    for place in range(number * _CHANGED, (number + 1) * _CHANGED):
        file = min(directories[place % len(directories)].iterdir())
        file.write_bytes(os.urandom(file.stat().st_size))
