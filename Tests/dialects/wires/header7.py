"""`header7`: 7 bytes, big-endian, and a JSON object that may be compressed."""

from __future__ import annotations

import json
import socket
import struct
import zlib

from .messages import Message, MessageClient

_HEADER = struct.Struct(">HHBH")
_VERSION = 1


def frame(function: int, body: bytes, compression: int = 0, version: int = _VERSION) -> bytes:
    """The header and the body as they are sent, which may be invalid."""
    return _HEADER.pack(version, function, compression, len(body)) + body


def body(message: Message) -> bytes:
    if message.body is None:
        return b""
    if isinstance(message.body, bytes):
        return message.body
    return json.dumps(message.body, ensure_ascii=False, separators=(",", ":")).encode()


def encode(message: Message, compressed: bool = False) -> bytes:
    data = body(message)
    return frame(message.function, zlib.compress(data) if compressed else data, int(compressed))


class Client(MessageClient):
    """A client that compresses all bodies, or none."""

    def __init__(self, stream: socket.socket, compressed: bool = False) -> None:
        super().__init__(stream)
        self.compressed = compressed

    def encode(self, message: Message) -> bytes:
        return encode(message, self.compressed)

    def receive(self) -> Message:
        version, function, compression, length = _HEADER.unpack(self.read(_HEADER.size))
        data = self.read(length)
        if (version, compression) != (_VERSION, 0):
            raise ValueError(f"version {version} and compression {compression} with {data!r}")
        return Message(function, json.loads(data) if data else None)
