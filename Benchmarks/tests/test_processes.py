from __future__ import annotations

import socket
import tempfile
import unittest
from pathlib import Path

from bench.processes import CommandFailed, Processes, TookTooLong

# Listens in a child of the started process, prints the place, and stays.
_LISTENER = """
import socket, sys, time
server = socket.create_server(("127.0.0.1", int(sys.argv[1])))
time.sleep(600)
"""


class ProcessesTests(unittest.TestCase):
    def setUp(self) -> None:
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.logs = Path(directory.name)
        self.processes = Processes(self.logs)
        self.addCleanup(self.processes.stop_all)

    def test_a_failure_tells_the_last_words(self) -> None:
        with self.assertRaisesRegex(CommandFailed, "sh ended with status 3: so it goes"):
            self.processes.run(["sh", "-c", "echo so it goes >&2; exit 3"])

    def test_the_log_of_a_success_is_removed(self) -> None:
        self.processes.run(["true"])
        self.assertEqual(list(self.logs.iterdir()), [])

    def test_stopping_ends_children_too(self) -> None:
        with socket.create_server(("127.0.0.1", 0)) as probe:
            port = probe.getsockname()[1]
        process = self.processes.start(["sh", "-c", 'python3 -c "$0" "$1"; true', _LISTENER, str(port)])
        process.wait_until_listening(port)
        self.processes.stop(process)
        with self.assertRaises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.1", port), timeout=5)

    def test_what_takes_too_long_is_ended(self) -> None:
        with self.assertRaises(TookTooLong) as raised:
            self.processes.run(["sleep", "600"], limit=0.05)
        self.assertEqual(str(raised.exception), "over 0.05 s")
        self.assertEqual(list(self.logs.iterdir()), [])

    def test_what_cannot_be_started_has_failed(self) -> None:
        with self.assertRaisesRegex(CommandFailed, "nothing-of-this-name did not start"):
            self.processes.run(["/nothing-of-this-name"])

    def test_what_was_stopped_is_left_alone(self) -> None:
        process = self.processes.start(["true"])
        self.processes.stop(process)
        self.processes.stop(process)
        self.assertEqual(list(self.logs.iterdir()), [])

    def test_waiting_ends_with_the_program(self) -> None:
        process = self.processes.start(["sh", "-c", "echo no such thing >&2"])
        with self.assertRaisesRegex(CommandFailed, "did not come: no such thing"):
            process.wait_until(lambda: False, "did not come")
