"""Runs proofs, one command after the other, until all have ended or the time is over."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path

from .history import History
from .proof import Item, Progress, Proof, Result, Settings
from .state import State
from .table import OLD, Row, Table, duration

# The exit status that a shell reports for a command that it does not find.
_NOT_FOUND = 127

# Seconds that a command has to end its children before it is killed.
_PATIENCE = 10.0


@dataclass(frozen=True)
class Choice:
    """The proofs to run, and for how long."""

    # Keys of proofs, each with the items to run; an empty list runs all items.
    only: Mapping[str, Sequence[str]]
    # None runs without a limit.
    seconds: float | None
    # Whether proofs that are valid for these sources are run again.
    again: bool


class Runner:
    """One run of the proofs."""

    def __init__(
        self, project: Path, directory: Path, proofs: Sequence[Proof], table: Table, state: State, history: History,
        settings: Settings, clock: Callable[[], float] = time.monotonic, say: Callable[[str], None] = print,
    ) -> None:
        self._project = project
        self._logs = directory / "logs"
        self._proofs = proofs
        self._table = table
        self._state = state
        self._history = history
        self._settings = settings
        self._clock = clock
        self._say = say
        self._end: float | None = None

    def run(self, choice: Choice) -> int:
        """Returns the exit status: 0 without findings, 1 with findings, 2 if a proof cannot begin.

        The state and the table contain every item that has ended, also if this method ends with an exception.
        """
        self._end = None if choice.seconds is None else self._clock() + choice.seconds
        status = 0
        for proof in self._proofs:
            if choice.only and proof.key not in choice.only:
                continue
            if self._is_over:
                self._say(f"{proof.key}: the time is over")
                break
            status = max(status, self._prove(proof, choice.only.get(proof.key, ()), choice.again))
        return status

    @property
    def _is_over(self) -> bool:
        return self._end is not None and self._clock() >= self._end

    def _prove(self, proof: Proof, wanted: Sequence[str], again: bool) -> int:
        commit = self._history.head()
        if commit is None or self._history.is_changed(proof.covers):
            self._say(f"{proof.key}: not run: a row is about a commit, and {', '.join(proof.covers)} differ from it")
            return 2
        command = proof.command(self._settings)
        row = self._table.rows.get(proof.key)
        if not again and row and row.command == command and self._history.is_same(row.commit, proof.covers):
            self._say(f"{proof.key}: run already for {row.commit}, which has the same sources; AGAIN=1 runs it again")
            return 0 if row.findings == "none" else 1
        progress = self._progress(proof, commit, command)
        older = row.figures if row else ""
        while (item := self._next(proof, progress, older, wanted)) is not None:
            if self._is_over:
                self._say(f"{proof.key}: the time is over; {item.name} comes next")
                return 1 if progress.findings else 0
            if not self._history.is_same(commit, proof.covers) or self._history.is_changed(proof.covers):
                self._say(f"{proof.key}: the sources have changed since {commit}; the next run goes on with the new ones")
                return 2
            self._say(f"{proof.key}: {item.name}")
            result = self._take(proof, item, commit)
            progress.results.append(result)
            self._state.save()
            self._tell(proof, result)
        if proof.next(progress, older, self._settings) is None:
            self._finish(proof, progress, older)
        return 1 if progress.findings else 0

    def _progress(self, proof: Proof, commit: str, command: str) -> Progress:
        """The progress of an earlier run with the same command, if a row for its sources would not be old; otherwise a
        new one."""
        found = self._state.progress.get(proof.key)
        if found and found.command == command and self._is_young(found, proof):
            if not self._history.is_same(found.last_commit, proof.covers):
                found.go_on(commit)
            if found.results:
                self._say(f"{proof.key}: goes on behind {found.results[-1].name}, seed {found.seed}, parts from {found.commit} on")
            return found
        self._say(f"{proof.key}: begins, seed {self._settings.seed}")
        progress = Progress(commit, self._settings.seed, command)
        self._state.progress[proof.key] = progress
        return progress

    def _is_young(self, progress: Progress, proof: Proof) -> bool:
        age = self._history.age(progress.commit, proof.covers)
        return age is not None and age <= OLD

    def _next(self, proof: Proof, progress: Progress, older: str, wanted: Sequence[str]) -> Item | None:
        """The next wanted item. Items in between are left for another run."""
        if not wanted:
            return proof.next(progress, older, self._settings)
        passed = Progress(progress.commit, progress.seed, progress.command, list(progress.results))
        while (item := proof.next(passed, older, self._settings)) is not None:
            if item.name in wanted:
                return item
            passed.results.append(Result(item.name, 0, 0, {}, (), ()))
        self._say(f"{proof.key}: nothing is left to run of {', '.join(wanted)}")
        return None

    def _take(self, proof: Proof, item: Item, commit: str) -> Result:
        log = self._logs / proof.key / f"{item.name}.log"
        log.parent.mkdir(parents=True, exist_ok=True)
        began = self._clock()
        with open(log, "wb") as output:
            status = self._execute(item, output.fileno())
        seconds = self._clock() - began
        shown = os.path.relpath(log, self._project)
        return proof.judge(item, status, seconds, log.read_text(encoding="utf-8", errors="replace"), shown, commit)

    def _execute(self, item: Item, output: int) -> int | None:
        """Returns the exit status, or None if the limit ended the command. All processes of the command end here, also
        if this process is interrupted."""
        try:
            process = subprocess.Popen(
                item.command, cwd=self._project, env={**os.environ, **item.environment}, stdin=subprocess.DEVNULL,
                stdout=output, stderr=output, start_new_session=True,
            )
        except OSError as error:
            os.write(output, f"{error}\n".encode())
            return _NOT_FOUND
        try:
            return process.wait(item.limit)
        except subprocess.TimeoutExpired:
            return None
        finally:
            _end_group(process)

    def _tell(self, proof: Proof, result: Result) -> None:
        counts = ", ".join(f"{count:,} {label}" for label, count in result.counts.items())
        self._say(f"{proof.key}: {result.name} took {duration(result.seconds)}" + (f": {counts}" if counts else ""))
        for finding in result.findings:
            self._say(f"{proof.key}: FOUND: {finding}")

    def _finish(self, proof: Proof, progress: Progress, older: str) -> None:
        figures = proof.figures(progress, older)
        if progress.last_commit != progress.commit:
            figures += f"; parts from {progress.commit} to {progress.last_commit}"
        row = Row(
            proof.key, progress.command, progress.commit, date.today().isoformat(), duration(progress.seconds),
            figures, "; ".join(progress.findings) or "none",
        )
        self._table.put(row, [each.key for each in self._proofs])
        # The row now contains the result.
        del self._state.progress[proof.key]
        self._state.save()
        self._say(f"{proof.key}: {row.figures}; findings: {row.findings}")


def _end_group(process: subprocess.Popen[bytes]) -> None:
    """Ends the processes that a command has left, first with a signal that they can handle."""
    if process.poll() is None:
        _signal(process, signal.SIGTERM)
        try:
            process.wait(_PATIENCE)
        except subprocess.TimeoutExpired:
            pass
    _signal(process, signal.SIGKILL)
    process.wait()


def _signal(process: subprocess.Popen[bytes], number: int) -> None:
    try:
        os.killpg(process.pid, number)
    except ProcessLookupError:
        pass
