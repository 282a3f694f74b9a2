from __future__ import annotations

import random
import sys
import tempfile
import time
import unittest
from pathlib import Path

from torture.program import PATIENCE, Client, Server, free_port


class ClientTests(unittest.TestCase):
    def setUp(self) -> None:
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.path = Path(directory.name)

    def client(self, program: str, stdin: bytes | None = None) -> Client:
        return Client([sys.executable, "-c", program], self.path, stdin, self.path / "log")

    def test_waits_for_lines(self) -> None:
        client = self.client("import signal\nprint('a', flush=True)\nsignal.pause()")
        self.assertTrue(client.wait_for(0, lines=1))
        client.mark()
        client.kill()
        run = client.finish()
        self.assertEqual((run.output, run.status, run.lines_at_kill), (b"a\n", -9, 1))

    def test_notices_the_end(self) -> None:
        client = self.client("import sys\nprint(sys.stdin.read())\nprint('words', file=sys.stderr)", b"in")
        self.assertFalse(client.wait_for(0, lines=5))
        run = client.finish()
        self.assertEqual((run.output, run.errors, run.status), (b"in\n", "words\n", 0))
        self.assertIsNone(run.lines_at_kill)

    def test_tells_what_it_said_by_now(self) -> None:
        client = self.client("import os, signal\nos.write(1, b'a\\n' * 70000)\nsignal.pause()")
        self.addCleanup(client.abandon)
        # A pipe holds less than the whole output.
        self.assertTrue(client.wait_for(0, lines=1))
        deadline = time.monotonic() + PATIENCE
        while len(client.said()) < 140_000 and time.monotonic() < deadline:
            pass
        self.assertEqual(client.said(), b"a\n" * 70_000)


class ServerTests(unittest.TestCase):
    def test_finds_the_words_of_a_crash(self) -> None:
        with tempfile.TemporaryDirectory() as directory:
            log = Path(directory) / "log"
            server = Server(Path("transfer"), Path(directory), log, free_port(random.Random(1)))
            log.write_text('{"level":"info","event":"listening"}\n')
            self.assertEqual(server.strange_words(), [])
            with log.open("a") as words:
                words.write("Fatal error: Index out of range\n")
                words.write('{"level":"error","event":"x"}\n')
            self.assertEqual(len(server.strange_words()), 2)

    def test_a_frozen_one_does_nothing_more(self) -> None:
        program = "print('{\"event\":\"listening\"}', flush=True)\nwhile True: print('{}', flush=True)"
        with tempfile.TemporaryDirectory() as directory:
            log = Path(directory) / "log"
            within = [sys.executable, "-c", program]
            server = Server(Path("transfer"), Path(directory), log, free_port(random.Random(1)), within)
            self.addCleanup(server.abandon)
            server.start()
            before = log.stat().st_size
            while log.stat().st_size == before:
                pass
            server.freeze()
            # This many checks take longer than the server needs to write a line.
            self.assertEqual(len({log.stat().st_size for _ in range(20_000)}), 1)
            server.kill()
            self.assertFalse(server.runs)


if __name__ == "__main__":
    unittest.main()
