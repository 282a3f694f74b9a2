"""The base class of tests with programs that must be installed."""

from __future__ import annotations

import os
import subprocess
import sys
import unittest
from pathlib import Path
from typing import ClassVar

from web.case import WebCase

_CLIENTS = Path(__file__).parent


class PeerCase(WebCase):
    """Tests against one server, with a package for Python if one is named."""

    package: ClassVar[str] = ""

    @classmethod
    def setUpClass(cls) -> None:
        if cls.package:
            try:
                __import__(cls.package)
            except ImportError:
                raise unittest.SkipTest(f"the package {cls.package} is not there") from None
        super().setUpClass()

    def command(self, program: str, *arguments: str | int) -> list[str]:
        """The command of one of the programs beside this file."""
        return [sys.executable, str(_CLIENTS / f"{program}.py"), *map(str, arguments)]

    def begin(self, program: str, *arguments: str | int, **more: str) -> subprocess.Popen[bytes]:
        return self.server.begin(self.command(program, *arguments), self.place(), **more)

    def assert_ends_well(self, client: subprocess.Popen[bytes]) -> str:
        done = self.finish(client)
        self.assertEqual(done.returncode, 0, (done.stdout + done.stderr).decode(errors="replace")[-2000:])
        return done.stdout.decode()


def lines_until(client: subprocess.Popen[bytes], count: int) -> list[bytes]:
    """Waits until a client has printed that many lines."""
    assert client.stdout is not None
    lines = [client.stdout.readline() for _ in range(count)]
    if not all(lines):
        raise AssertionError(f"the client ended: {os.fsdecode(client.communicate()[1])[-2000:]}")
    return lines
