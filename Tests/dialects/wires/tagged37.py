"""`tagged37`: 37 characters, and pretty-printed JSON; heartbeats without a header between messages."""

from __future__ import annotations

import json
import re
import socket

from .messages import Message, MessageClient

TAG = b"V0.1"
SIZE = 37
ZEROS = b"0" * 17
# The 15 bytes that the programs send every 5 seconds.
HEARTBEAT = "保持连接吗".encode()

_HEADER = re.compile(rb"V0\.1(\d{8})(\d{8})0{17}")


def header(length: int, function: int) -> bytes:
    """The header for a message; `length` counts header and JSON together."""
    return b"%s%08d%08d%s" % (TAG, length, function, ZEROS)


def units(text: str) -> int:
    """The number of UTF-16 code units, which the programs count."""
    return len(text.encode("utf-16-le")) // 2


def pretty(value: object) -> str:
    """JSON in the layout of the programs."""
    return json.dumps(value, ensure_ascii=False, indent=2, separators=(",", " : "))


def encode(message: Message, counts_bytes: bool = False) -> bytes:
    """A message with its length in code units, as the programs send it, or in bytes, as may have been intended."""
    data = message.body if isinstance(message.body, bytes) else pretty(message.body or {}).encode()
    # Bytes that are not text have no code units.
    count = len(data) if counts_bytes else units(data.decode(errors="replace"))
    return header(SIZE + count, message.function) + data


class Client(MessageClient):
    """A client like the program, or like another one that counts bytes."""

    def __init__(self, stream: socket.socket, counts_bytes: bool = False) -> None:
        super().__init__(stream)
        self.counts_bytes = counts_bytes

    def encode(self, message: Message) -> bytes:
        return encode(message, self.counts_bytes)

    def beat(self) -> None:
        self.send(HEARTBEAT)

    def receive(self) -> Message:
        front = self.read(SIZE)
        found = _HEADER.fullmatch(front)
        if found is None:
            raise ValueError(f"no header: {front!r}")
        data = self.read(int(found[1]) - SIZE)
        # In pure ASCII, bytes and code units are the same number.
        return Message(int(found[2]), json.loads(data.decode("ascii")))
