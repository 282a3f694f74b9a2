"""The messages that `header7` and `tagged37` carry: function codes and JSON objects."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

from .connection import Connection
from .cuts import Cut, whole

# Bytes of content whose Base64 fits into an uncompressed body of `header7` beside the other members.
CHUNK = 46_080
# The longest chunk that the server accepts.
LONGEST_CHUNK = 48 << 10

Object = dict[str, Any]


class Function(IntEnum):
    """The function code of a message."""

    PING = 3
    PONG = 4
    GOODBYE = 5
    BEGIN = 16
    CHUNK = 18
    END = 20
    ABORT = 21
    RESULT = 23
    TEXT = 64


@dataclass(frozen=True)
class Message:
    """One message. A body of bytes is sent unchanged."""

    function: int
    body: Object | bytes | None = None


@dataclass(frozen=True)
class Result:
    """The result of an upload, or of the conversation if the ID is 0."""

    id: int
    code: int
    result: str
    name: str | None
    path: str | None
    message: str | None

    @classmethod
    def of(cls, message: Message) -> Result:
        body = message.body
        if message.function != Function.RESULT or not isinstance(body, dict):
            raise ValueError(f"{message} is no result")
        optional = (body.get("name"), body.get("path"), body.get("message"))
        return cls(body["id"], body["code"], body["result"], *optional)

    @property
    def is_stored(self) -> bool:
        return (self.code, self.result) in ((1, "committed"), (2, "alreadyStored"))


def chunk(id: int, data: bytes) -> Message:
    return Message(Function.CHUNK, {"id": id, "data": base64.b64encode(data).decode()})


def text(id: int, text: str, **members: Any) -> Message:
    return Message(Function.TEXT, {"id": id, "text": text, **members})


def upload(id: int, content: bytes, piece: int = CHUNK, digest: str | None = "", **members: Any) -> Iterator[Message]:
    """All messages of one upload, with that many bytes in each chunk.

    An empty `digest` stands for the right one, and None for no digest at all; `members` are those of `begin`.
    """
    yield Message(Function.BEGIN, {"id": id, **members})
    for start in range(0, len(content), piece):
        yield chunk(id, content[start : start + piece])
    yield end(id, content, digest)


def end(id: int, content: bytes, digest: str | None = "") -> Message:
    body: Object = {"id": id, "size": len(content)}
    if digest is not None:
        body["sha256"] = digest or hashlib.sha256(content).hexdigest()
    return Message(Function.END, body)


class MessageClient(Connection):
    """A client for messages, without their encoding."""

    def encode(self, message: Message) -> bytes:
        raise NotImplementedError

    def receive(self) -> Message:
        """The next message. Raises Ended if the connection ends before."""
        raise NotImplementedError

    def say(self, *messages: Message, cut: Cut = whole) -> None:
        """Sends the messages glued together, and cut as one stream."""
        self.send(b"".join(map(self.encode, messages)), cut)

    def result(self) -> Result:
        return Result.of(self.receive())
