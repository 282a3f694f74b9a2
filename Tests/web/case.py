"""The base class of the tests: a server for each class, and a check of it at the end."""

from __future__ import annotations

import hashlib
import json
import os
import random
import shutil
import subprocess
import unittest
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

import children

from .server import WebServer
from .wire import PATIENCE, Answer, Fields


class WebCase(unittest.TestCase):
    """Tests against one server, which must be healthy after all of them."""

    # Programs without which these tests are skipped.
    needs: ClassVar[Sequence[str]] = ()
    # Further arguments of the server.
    options: ClassVar[Sequence[str]] = ()
    # Whether the tests may leave unfinished uploads that can continue.
    leaves_uploads: ClassVar[bool] = False
    server: ClassVar[WebServer]

    @classmethod
    def setUpClass(cls) -> None:
        for name in cls.needs:
            if not shutil.which(name):
                raise unittest.SkipTest(f"{name} is not there")
        cls.server = WebServer(cls.options)
        cls.addClassCleanup(cls.server.abandon)
        cls.prepare()
        cls.server.start()

    @classmethod
    def prepare(cls) -> None:
        """Prepares files that the server needs before it starts."""

    @classmethod
    def tearDownClass(cls) -> None:
        cls().check_the_end()

    def check_the_end(self) -> None:
        """Everything stored is intact, no partial file is left, and the server was always healthy."""
        server = self.server
        done = server.transfer("verify", "--dir", str(server.directory), "--json")
        *findings, summary = (json.loads(line) for line in done.stdout.splitlines())
        self.assertEqual(findings, [])
        self.assertEqual(summary["intact"], len(self.visible()))
        self.assertEqual(server.stop(), 0, server.log.tail())
        self.assertEqual((server.log.strange(), server.crashes), ([], []))
        if not self.leaves_uploads:
            self.assertEqual(server.unfinished, [])

    # Stored files

    def visible(self) -> list[str]:
        """The paths of all files outside the server's own folder."""
        top = self.server.directory
        found = []
        for parent, folders, files in os.walk(top):
            folders[:] = [name for name in folders if Path(parent, name) != top / ".transfer"]
            found += [os.path.relpath(os.path.join(parent, name), top) for name in files]
        return sorted(found)

    def assert_stored(self, path: str, content: bytes) -> None:
        found = (self.server.directory / path).read_bytes()
        # Compares digests, because a failure would otherwise print the contents.
        self.assertEqual((len(found), _digest(found)), (len(content), _digest(content)), path)

    # Clients

    def place(self) -> Path:
        """A directory for one test."""
        directory = self.server.path / "work" / self.id().rpartition(".")[2]
        directory.mkdir(parents=True, exist_ok=True)
        return directory

    def run_client(self, command: Sequence[str], directory: Path | None = None, **more: str) -> str:
        """Runs a client that must succeed. Returns its output."""
        done = self.finish(self.server.begin(command, directory or self.place(), **more))
        self.assertEqual(done.returncode, 0, f"{command[0]}: {(done.stdout + done.stderr).decode(errors='replace')[-2000:]}")
        return done.stdout.decode(errors="replace")

    def finish(self, client: subprocess.Popen[bytes]) -> subprocess.CompletedProcess[bytes]:
        """Waits for a client, whatever its exit status."""
        return children.finish(client, 2 * PATIENCE)

    def curl(self, *arguments: str, directory: Path | None = None) -> str:
        return self.run_client(["curl", "-sS", "-u", f"me:{self.server.token}", *arguments], directory)

    @property
    def authorization(self) -> Fields:
        return {"Authorization": f"Bearer {self.server.token}"}

    def ask(self, method: str, target: str, fields: Fields | None = None, content: bytes | None = None) -> Answer:
        """Sends one request over a separate connection."""
        with self.server.connect() as connection:
            return connection.ask(method, target, self.authorization | (fields or {}), content)

    def assert_served(self, source: str = "") -> None:
        """Fails unless the server serves another client."""
        content = made(50_000, seed=self.id())
        with self.server.connect(source=source) as connection:
            answer = connection.ask("PUT", "/served", self.authorization, content)
            self.assertIn(answer.status, (200, 201))
            self.assertEqual(connection.ask("GET", "/served", self.authorization).content, content)

    def assert_problem(self, answer: Answer, status: int) -> dict[str, Any]:
        """Fails unless the answer is an error in the documented form. Returns its content."""
        self.assertEqual(answer.status, status, answer.content)
        self.assertEqual(answer.fields["content-type"], "application/problem+json")
        problem: dict[str, Any] = json.loads(answer.content)
        self.assertEqual(problem["status"], status)
        self.assertTrue(problem["title"] and problem["result"], problem)
        return problem


def made(count: int, seed: str) -> bytes:
    """Bytes without repetition; the same seed gives the same bytes."""
    return random.Random(seed).randbytes(count)


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
