"""Cleanup that an impatient user cannot interrupt."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager

ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""The signals that ask this program to end."""


@contextmanager
def undisturbed() -> Iterator[None]:
    """Ignores the signals that end this program until the block is done."""
    before = [signal.signal(number, signal.SIG_IGN) for number in ENDING]
    try:
        yield
    finally:
        for number, handler in zip(ENDING, before):
            signal.signal(number, handler)
