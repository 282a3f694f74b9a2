"""`jsonline`: a JSON object, CR LF and a body, between clients that have names."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from .connection import Connection
from .cuts import Cut, whole
from .tagged37 import pretty

TEXT = "txt"
PICTURE = "img"
HEARTBEATS = ("heartA", "heartB")
END = b"\r\n"

# Seconds between two heartbeats.
_PACE = 1.0
_LONGEST_HEAD = 1 << 16


@dataclass(frozen=True)
class Forwarded:
    """A message from another client, or from the server itself."""

    type: str
    source: str
    body: bytes


def encode(type: str, name: str, target: str, body: bytes, member: str = "CinentID") -> bytes:
    """A message of a client; `member` is the name of the member with the client's name, in the spelling of those
    programs."""
    head = pretty({"type": type, member: name, "targetID": target, "size": str(len(body))})
    return head.encode() + END + body


class Client(Connection):
    """A client with a name, whose heartbeats are sent between its messages and never inside one."""

    def __init__(self, stream: socket.socket, name: str = "") -> None:
        super().__init__(stream)
        self.name = name
        self._turn = threading.Lock()
        self._beats = 0

    def beat(self) -> None:
        """Sends a heartbeat. The first one tells the server the client's name."""
        type = HEARTBEATS[self._beats % len(HEARTBEATS)]
        self._beats += 1
        self.say(type, "", b"")

    def say(self, type: str, target: str, body: bytes, cut: Cut = whole) -> None:
        with self._turn:
            self.send(encode(type, self.name, target, body), cut)

    @contextmanager
    def beating(self, pace: float = _PACE) -> Iterator[None]:
        """Sends one heartbeat now and one each second, until the end of the block."""
        over = threading.Event()
        self.beat()
        thread = threading.Thread(target=self._beat_until, args=(over, pace), daemon=True)
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()

    def _beat_until(self, over: threading.Event, pace: float) -> None:
        while not over.wait(pace):
            try:
                self.beat()
            except OSError:
                return

    def receive(self) -> Forwarded:
        """The next message. Raises Ended if the connection ends before."""
        head = json.loads(self._read_head())
        return Forwarded(head["type"], head["sourceClient"], self.read(int(head["size"])))

    def _read_head(self) -> bytes:
        """Reads byte by byte, because the body follows immediately."""
        head = bytearray()
        while not head.endswith(END):
            if len(head) > _LONGEST_HEAD:
                raise ValueError(f"a head without an end: {bytes(head[:80])!r}")
            head += self.read(1)
        return bytes(head)
