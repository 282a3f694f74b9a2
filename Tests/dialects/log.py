"""The standard error of a server, line by line, for tests that wait for an event."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from typing import IO, Any

from .wires.connection import PATIENCE

Event = dict[str, Any]

# Number of lines of the log to show in a failure.
_SHOWN = 12


class Silent(AssertionError):
    """An expected event did not happen; the message has the last lines."""


def _is_grave(event: Event) -> bool:
    return event.get("level") == "error" or event.get("event") == "restarted"


class Log:
    """Reads the log until the last process that writes to it has ended."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._lines: list[bytes] = []
        self._events: list[Event] = []
        # Lines that are not events: a crash prints its reason in words.
        self._words: list[str] = []
        self._is_over = False
        self._changed = threading.Condition()
        self._thread = threading.Thread(target=self._read, args=(stream,), daemon=True)
        self._thread.start()

    def _read(self, stream: IO[bytes]) -> None:
        with stream:
            for line in stream:
                self._take(line)
        with self._changed:
            self._is_over = True
            self._changed.notify_all()

    def _take(self, line: bytes) -> None:
        with self._changed:
            self._lines.append(line)
            try:
                self._events.append(json.loads(line))
            except ValueError:
                self._words.append(line.decode(errors="replace"))
            self._changed.notify_all()

    def events(self, name: str) -> list[Event]:
        """All events with that name so far."""
        with self._changed:
            return [event for event in self._events if event.get("event") == name]

    def until(self, happened: Callable[[], bool], what: str, patience: float = PATIENCE) -> None:
        """Checks the condition again at each new line. Raises Silent if it does not become true."""
        deadline = time.monotonic() + patience
        while True:
            with self._changed:
                before, is_over = len(self._lines), self._is_over
            if happened():
                return
            if is_over or not self._wait(before, deadline):
                raise Silent(f"{what}; the log ends with\n{self.tail()}")

    def _wait(self, before: int, deadline: float) -> bool:
        """Waits for more than that many lines. Returns False if the time is over."""
        with self._changed:
            return self._changed.wait_for(
                lambda: len(self._lines) > before or self._is_over, max(0.0, deadline - time.monotonic())
            )

    def finish(self) -> None:
        """Reads the rest of the log of a server that has ended."""
        self._thread.join(PATIENCE)

    def tail(self) -> str:
        with self._changed:
            return b"".join(self._lines[-_SHOWN:]).decode(errors="replace")

    def strange(self) -> list[str]:
        """Lines that no healthy server writes, whatever its clients do."""
        with self._changed:
            grave = [json.dumps(event, ensure_ascii=False) for event in self._events if _is_grave(event)]
            return self._words + grave
