"""`text`: C strings, each in a buffer of 1,024 bytes that is sent completely."""

from __future__ import annotations

import random

from .connection import Connection
from .cuts import Cut, whole

SIZE = 1_024
EXIT = b"exit"


def buffer(text: bytes, rubbish: bytes = b"") -> bytes:
    """A buffer that contained `rubbish` before. The longest text leaves no room for a NUL."""
    front = (text + b"\0")[:SIZE]
    return (front + rubbish[len(front) :]).ljust(SIZE, b"\xcc")[:SIZE]


def rubbish(seed: int) -> bytes:
    """Possible earlier content of a stack: anything, even the word that ends the conversation."""
    source = random.Random(seed)
    return source.randbytes(SIZE // 2) + b"\0exit\0" + source.randbytes(SIZE // 2 - 6)


class Client(Connection):
    """The client of the example, with a stack that was used before."""

    def say(self, *texts: bytes, cut: Cut = whole) -> None:
        """Sends the texts glued together, and cut as one stream."""
        self.send(b"".join(buffer(text, rubbish(seed)) for seed, text in enumerate(texts)), cut)

    def leave(self) -> None:
        self.say(EXIT)
