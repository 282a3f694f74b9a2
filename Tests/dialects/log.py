"""What a server says on standard error, line by line, for somebody who waits for it."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from typing import IO, Any

from .wires.connection import PATIENCE

Event = dict[str, Any]

# How much of a log a failure shows.
_SHOWN = 12


class Silent(AssertionError):
    """What was waited for did not come; the message has the last lines."""


def _is_grave(event: Event) -> bool:
    return event.get("level") == "error" or event.get("event") == "restarted"


class Log:
    """Reads until the last process that writes has ended."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._lines: list[bytes] = []
        self._events: list[Event] = []
        # Lines that are no event: a crash says its reason in words.
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
        """All of that name so far."""
        with self._changed:
            return [event for event in self._events if event.get("event") == name]

    def until(self, happened: Callable[[], bool], what: str, patience: float = PATIENCE) -> None:
        """Looks again with each line that comes. Raises Silent when it doesn't happen."""
        deadline = time.monotonic() + patience
        while True:
            with self._changed:
                before, is_over = len(self._lines), self._is_over
            if happened():
                return
            if is_over or not self._wait(before, deadline):
                raise Silent(f"{what}; the log ends with\n{self.tail()}")

    def _wait(self, before: int, deadline: float) -> bool:
        """Waits for a line behind so many. Returns False when the time is over."""
        with self._changed:
            return self._changed.wait_for(
                lambda: len(self._lines) > before or self._is_over, max(0.0, deadline - time.monotonic())
            )

    def finish(self) -> None:
        """Reads what is left of a server that has ended."""
        self._thread.join(PATIENCE)

    def tail(self) -> str:
        with self._changed:
            return b"".join(self._lines[-_SHOWN:]).decode(errors="replace")

    def strange(self) -> list[str]:
        """What no healthy server says, whatever its clients do."""
        with self._changed:
            grave = [json.dumps(event, ensure_ascii=False) for event in self._events if _is_grave(event)]
            return self._words + grave
