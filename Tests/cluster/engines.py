"""Engines for tests: those that the environment names, or separate ones that end with the tests."""

from __future__ import annotations

import atexit
import os
import shutil
import signal
import subprocess
import tempfile
import unittest
from collections.abc import Mapping
from pathlib import Path

import children

from .s3 import Client, Endpoint

PROJECT = Path(__file__).resolve().parents[2]
SCRIPT = PROJECT / "scripts/engines.sh"

# Seconds for a command of the script, longer than it waits itself for an engine.
_PATIENCE = 900.0


children.have_default_signals()


class Engines:
    """The engines of one directory."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self._environment = os.environ | {"ENGINES_DIR": str(directory)}

    def run(self, *words: str, prefix: tuple[str, ...] = ()) -> subprocess.CompletedProcess[bytes]:
        """Runs the script. `prefix` stands before the command, such as one that changes the user."""
        process = subprocess.Popen(
            [*prefix, str(SCRIPT), *words],
            env=self._environment,
            cwd=PROJECT,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        return children.finish(process, _PATIENCE)

    def start(self, *words: str) -> None:
        """Starts engines. Raises AssertionError with the script's words if one does not start."""
        done = self.run("start", *words)
        if done.returncode != 0:
            raise AssertionError(done.stderr.decode(errors="replace"))

    def stop(self, *words: str) -> None:
        done = self.run("stop", *words)
        if done.returncode != 0:
            raise AssertionError(done.stderr.decode(errors="replace"))

    def settings(self, *words: str) -> dict[str, str]:
        """What programs need, for the engines that run."""
        lines = self.run("status", "--env", *words).stdout.decode().splitlines()
        return dict(line.split("=", 1) for line in lines)


def available() -> list[str]:
    """The engines whose programs are installed."""
    return subprocess.run([str(SCRIPT), "available"], check=True, capture_output=True, text=True).stdout.split()


class _Shared:
    """Engines that the tests of this process share. They end with it."""

    def __init__(self) -> None:
        self._engines: Engines | None = None
        self._settings: dict[str, str] = {}

    def settings(self, engine: str) -> dict[str, str]:
        name = f"ENGINES_{engine.upper()}"
        if name in os.environ:
            return dict(os.environ)
        if name not in self._settings:
            self._start(engine)
        return self._settings

    def _start(self, engine: str) -> None:
        if engine not in available():
            raise unittest.SkipTest(f"{engine} is not installed (scripts/bootstrap.sh --engines)")
        if self._engines is None:
            self._engines = Engines(Path(tempfile.mkdtemp(prefix="transfer-engines-")))
            atexit.register(self._end)
            # A SIGTERM to the tests also ends the engines, like a keyboard interrupt.
            signal.signal(signal.SIGTERM, signal.default_int_handler)
        self._engines.start(engine)
        self._settings = self._engines.settings()

    def _end(self) -> None:
        assert self._engines is not None
        self._engines.stop()
        shutil.rmtree(self._engines.directory, ignore_errors=True)


_shared = _Shared()


def postgres() -> dict[str, str]:
    """The settings of a PostgreSQL server. Raises SkipTest if it is not installed."""
    return _shared.settings("postgres")


def pid(engine: str) -> int:
    """The process of a server."""
    return int(_shared.settings(engine)[f"ENGINES_{engine.upper()}_PID"])


def endpoint(engine: str, settings: Mapping[str, str] | None = None) -> Endpoint:
    """The bucket of a server that speaks S3, from these settings or from those of the shared engine. Raises SkipTest if it is
    not installed."""
    settings, prefix = settings or _shared.settings(engine), f"ENGINES_{engine.upper()}"
    return Endpoint(*(settings[prefix + part] for part in ("", "_KEY", "_SECRET", "_BUCKET")))


def client(engine: str) -> Client:
    """A client for this bucket."""
    return Client(endpoint(engine))
