from __future__ import annotations

import os
import signal
import subprocess
import tempfile
import unittest
from pathlib import Path

from bench import resident


class ResidentTests(unittest.TestCase):
    def start(self, *command: str) -> subprocess.Popen[str]:
        started = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert started.stdout is not None
        for clean_up in (started.stdout.close, started.wait, started.kill):
            self.addCleanup(clean_up)
        return started

    def test_who_has_no_children_serves_itself(self) -> None:
        alone = self.start("sleep", "600")
        self.assertEqual(resident.serving_process(alone.pid), alone.pid)

    def test_a_child_serves_for_who_supervises_it(self) -> None:
        parent = self.start("sh", "-c", "sleep 600 & echo $!; wait")
        assert parent.stdout is not None
        child = int(parent.stdout.readline())
        self.addCleanup(os.kill, child, signal.SIGKILL)
        self.assertEqual(resident.serving_process(parent.pid), child)

    def test_of_several_clients_the_largest_counts(self) -> None:
        server = self.start("sleep", "600")
        with tempfile.TemporaryDirectory() as directory:
            report = Path(directory, "report")
            peaks = resident.Peaks(report)
            for client in ("300\n", "700\n", "Command exited with non-zero status 1\n500\n"):
                with peaks.during("push", server.pid):
                    report.write_text(client)
            self.assertEqual(peaks.found["push"][1], 700)
            self.assertGreater(peaks.found["push"][0], 0)
