from __future__ import annotations

import signal
import subprocess
import sys
import unittest
from pathlib import Path

import children


class SignalTests(unittest.TestCase):
    """Runs in another process, because all threads of a process share the signals."""

    PROGRAM = """
import signal, subprocess, sys, children
numbers = [signal.SIGHUP, signal.SIGINT, signal.SIGTERM]
for number in numbers:
    signal.signal(number, signal.SIG_IGN)
signal.pthread_sigmask(signal.SIG_BLOCK, numbers)
children.have_default_signals()
for number in numbers:
    signal.raise_signal(number)
for number in numbers:
    child = subprocess.Popen(["cat"], stdin=subprocess.PIPE)
    child.send_signal(number)
    print(child.wait())
    child.stdin.close()
"""

    def test_a_child_has_the_default(self) -> None:
        """An ignored signal also does not end the process that starts the child."""
        command = [sys.executable, "-c", self.PROGRAM]
        done = subprocess.run(command, cwd=Path(children.__file__).parent, capture_output=True, text=True, check=False)
        self.assertEqual((done.returncode, done.stdout), (0, "-1\n-2\n-15\n"), done.stderr)


class FinishTests(unittest.TestCase):
    def start(self, *command: str) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True
        )

    def test_tells_how_it_ended(self) -> None:
        done = children.finish(self.start("sh", "-c", "echo out; echo err >&2; exit 3"))
        self.assertEqual((done.stdout, done.stderr, done.returncode), (b"out\n", b"err\n", 3))

    def test_one_that_does_not_end_is_described_and_killed(self) -> None:
        process = self.start("sh", "-c", "echo words; tail -f /dev/null & wait")
        assert process.stdout is not None
        with self.assertRaisesRegex(AssertionError, r"(?s)did not end within 1 s.*: tail -f /dev/null.*it has said: words"):
            children.finish(process, 1)
        self.assertEqual(process.returncode, -signal.SIGKILL)


if __name__ == "__main__":
    unittest.main()
