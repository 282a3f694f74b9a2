"""`text`: C strings, each in a buffer of 1,024 bytes that travels whole."""

from __future__ import annotations

import random

from .connection import Connection
from .cuts import Cut, whole

SIZE = 1_024
EXIT = b"exit"


def buffer(text: bytes, rubbish: bytes = b"") -> bytes:
    """A buffer that had this rubbish in it before. The longest text leaves no room for a NUL."""
    front = (text + b"\0")[:SIZE]
    return (front + rubbish[len(front) :]).ljust(SIZE, b"\xcc")[:SIZE]


def rubbish(seed: int) -> bytes:
    """What a stack may have had there: anything, an end of the conversation with it."""
    source = random.Random(seed)
    return source.randbytes(SIZE // 2) + b"\0exit\0" + source.randbytes(SIZE // 2 - 6)


class Client(Connection):
    """The example's client, with a stack that was used before."""

    def say(self, *texts: bytes, cut: Cut = whole) -> None:
        """Sends them glued, and cut as one stream."""
        self.send(b"".join(buffer(text, rubbish(seed)) for seed, text in enumerate(texts)), cut)

    def leave(self) -> None:
        self.say(EXIT)
