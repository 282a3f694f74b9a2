"""The progress of each proof, kept for the next run."""

from __future__ import annotations

import dataclasses
import fcntl
import json
from pathlib import Path
from typing import IO

from .proof import Progress, Result


class Busy(Exception):
    """Another run works in the directory."""


class State:
    """A file with the completed parts of unfinished proofs. Only one run at a time works in the directory of the logs.
    """

    def __init__(self, directory: Path, file: Path) -> None:
        self._directory = directory
        self._file = file
        self._lock: IO[str] | None = None
        self.progress: dict[str, Progress] = {}

    def load(self) -> None:
        """Reads the file of the last run. A file that is unreadable or has another form counts as empty."""
        try:
            found = json.loads(self._file.read_text(encoding="utf-8"))
            self.progress = {
                key: Progress(**{**one, "results": [Result(**result) for result in one["results"]]})
                for key, one in found.items()
            }
        except (FileNotFoundError, ValueError, TypeError, AttributeError, KeyError):
            self.progress = {}

    def open(self) -> None:
        """Keeps other runs out until this process ends, and reads the file. Raises Busy if there is another run."""
        self._directory.mkdir(parents=True, exist_ok=True)
        self._lock = open(self._directory / "lock", "w", encoding="utf-8")
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            self._lock.close()
            raise Busy(f"another run works in {self._directory}") from error
        self.load()

    def close(self) -> None:
        """Lets other runs in."""
        if self._lock is not None:
            self._lock.close()

    def save(self) -> None:
        """Replaces the whole file, so that an interrupted run leaves the old or the new one. Removes the file if all
        proofs have ended."""
        if not self.progress:
            self._file.unlink(missing_ok=True)
            return
        text = json.dumps({key: dataclasses.asdict(one) for key, one in self.progress.items()}, indent=1) + "\n"
        beside = self._file.with_suffix(".new")
        beside.write_text(text, encoding="utf-8")
        beside.replace(self._file)
