"""Runs suites of the test program, with or without a mutant."""

from __future__ import annotations

import enum
import os
import re
import resource
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import children

children.have_default_signals()

_FAILED = re.compile(r"✘ Test (\S+|\".*\")(?:\(.*\))? (?:with .* test cases? )?failed after")
# The runner does not know the test of an issue on a thread that the test started.
_ISSUE = re.compile(r"✘ Test «unknown» recorded an issue at (\w[^:\s]*)")
_COUNT = re.compile(r"Test run with (\d+) tests?")


class End(enum.Enum):
    """How a run ended."""

    PASSED = "passed"
    FAILED = "a test failed"
    CRASHED = "it crashed"
    LATE = "the time limit"


@dataclass(frozen=True)
class Run:
    """The result of one run."""

    end: End
    seconds: float
    # Number of tests that the runner reports; 0 if the run did not complete.
    tests: int
    # Failed tests, or files of tests if the runner does not know the test.
    failed: Sequence[str]
    output: str


class Suites:
    """The test program of one build."""

    def __init__(self, program: Path, directory: Path, limit: float) -> None:
        self._program = program
        self._directory = directory
        self._limit = limit

    def run(self, suite: str, mutant: int = 0) -> Run:
        """Runs the tests that match a filter, and ends the run at the time limit."""
        scratch = tempfile.mkdtemp(prefix="mutant-")
        started = time.monotonic()
        try:
            with tempfile.TemporaryFile() as log:
                process = self._start(suite, mutant, scratch, log.fileno())
                code = self._wait(process)
                seconds = time.monotonic() - started
                log.seek(0)
                return judge(code, seconds, log.read().decode(errors="replace"))
        finally:
            shutil.rmtree(scratch, ignore_errors=True)

    def _start(self, suite: str, mutant: int, scratch: str, log: int) -> subprocess.Popen[bytes]:
        # Some tests run as another user for a moment.
        os.chmod(scratch, 0o755)
        environment = dict(os.environ, TMPDIR=scratch, SWIFT_BACKTRACE="enable=no", TRANSFER_MUTANT=str(mutant))
        return subprocess.Popen(
            [self._program, "--testing-library", "swift-testing", "--filter", suite],
            cwd=self._directory,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
            preexec_fn=_leave_no_core,
        )

    def _wait(self, process: subprocess.Popen[bytes]) -> int | None:
        try:
            return process.wait(self._limit)
        except subprocess.TimeoutExpired:
            return None
        finally:
            # Also kills processes that the tests have started.
            try:
                os.killpg(process.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            process.wait()


def judge(code: int | None, seconds: float, output: str) -> Run:
    """Interprets the exit code of a run, or None after the time limit, and the output."""
    # A test may print the summary of another run; the last one is the run's own.
    counts = _COUNT.findall(output)
    names = [name.split("(")[0].strip('"') for name in _FAILED.findall(output)] or _ISSUE.findall(output)
    failed = tuple(dict.fromkeys(names))
    if code is None:
        end = End.LATE
    elif code < 0:
        end = End.CRASHED
    else:
        end = End.PASSED if code == 0 else End.FAILED
    return Run(end, seconds, int(counts[-1]) if counts else 0, failed, output)


def _leave_no_core() -> None:
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
