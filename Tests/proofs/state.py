"""What a run leaves for the next one: how far each proof is."""

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
    """A file in the directory of the runs, for one run at a time."""

    def __init__(self, directory: Path) -> None:
        self._file = directory / "state.json"
        self._lock: IO[str] | None = None
        self.progress: dict[str, Progress] = {}

    def load(self) -> None:
        """Reads what the last run has left. A file that cannot be read, or has another form, counts as empty."""
        try:
            found = json.loads(self._file.read_text(encoding="utf-8"))
            self.progress = {
                key: Progress(**{**one, "results": [Result(**result) for result in one["results"]]})
                for key, one in found.items()
            }
        except (FileNotFoundError, ValueError, TypeError, AttributeError, KeyError):
            self.progress = {}

    def open(self) -> None:
        """Keeps other runs out until this process ends, and reads the file. Raises Busy when there is one."""
        self._file.parent.mkdir(parents=True, exist_ok=True)
        self._lock = open(self._file.with_name("lock"), "w", encoding="utf-8")
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            self._lock.close()
            raise Busy(f"another run works in {self._file.parent}") from error
        self.load()

    def close(self) -> None:
        """Lets others in."""
        if self._lock is not None:
            self._lock.close()

    def save(self) -> None:
        """Writes the file whole: a run that is ended leaves the old one or the new one."""
        text = json.dumps({key: dataclasses.asdict(one) for key, one in self.progress.items()}, indent=1)
        beside = self._file.with_suffix(".new")
        beside.write_text(text, encoding="utf-8")
        beside.replace(self._file)
