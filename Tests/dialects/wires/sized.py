"""`sized`: total and type of 4 bytes each, then the content; the answer is three numbers."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from enum import IntEnum

from .connection import Connection
from .cuts import Cut, whole

# The programs copy native integers of little-endian machines.
_HEAD = struct.Struct("<ii")
_ANSWER = struct.Struct("<iii")


class Type(IntEnum):
    """The type of the content."""

    TEXT = 1
    AUDIO = 2
    PICTURE = 3
    LOCATION = 4

    @property
    def kind(self) -> str:
        """The server's name for the type."""
        return self.name.lower()


@dataclass(frozen=True)
class Answer:
    """The answer to one upload."""

    total: int
    type: int
    result: int


def stored(type: int) -> Answer:
    return Answer(_ANSWER.size, type, 1)


def failed(type: int) -> Answer:
    return Answer(_ANSWER.size, type, 0)


def head(total: int, type: int) -> bytes:
    """The header of an upload, which may be invalid."""
    return _HEAD.pack(total, type)


def upload(type: int, content: bytes) -> bytes:
    """An upload of the first program, whose total counts the 8 bytes of the header."""
    return head(_HEAD.size + len(content), type) + content


def content_upload(type: int, content: bytes) -> bytes:
    """An upload of the second program, whose total counts the content alone."""
    return head(len(content), type) + content


class Client(Connection):
    """A client like the first program."""

    def upload(self, type: int, content: bytes, cut: Cut = whole) -> None:
        self.send(upload(type, content), cut)

    def answer(self) -> Answer:
        return Answer(*_ANSWER.unpack(self.read(_ANSWER.size)))
