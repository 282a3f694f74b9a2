"""Contents of each kind, all of them different."""

from __future__ import annotations

import itertools
import json
import random
import struct

from .pictures import Picture

# First bytes that clients of other protocols may send to any port.
GREETINGS = (b"GET / HTTP/1.1\r\nHost: a\r\n\r\n", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", b"SSH-2.0-x\r\n")

_numbers = itertools.count(1)

# WAVE with PCM: one channel of 8,000 samples a second, 16 bits each.
_RATE, _BYTES = 8_000, 2


def text(words: str = "Hello 你好 👋") -> bytes:
    return f"{words} {next(_numbers)}".encode()


def picture(width: int = 12, height: int = 8) -> bytes:
    return Picture(width, height, next(_numbers)).content


def audio(samples: int = 400) -> bytes:
    data = random.Random(next(_numbers)).randbytes(samples * _BYTES)
    format = struct.pack("<4sIHHIIHH", b"fmt ", 16, 1, 1, _RATE, _RATE * _BYTES, _BYTES, 8 * _BYTES)
    body = b"WAVE" + format + struct.pack("<4sI", b"data", len(data)) + data
    return struct.pack("<4sI", b"RIFF", len(body)) + body


def location() -> bytes:
    place = {"latitude": 31.2304, "longitude": 121.4737, "name": f"外滩 {next(_numbers)}"}
    return json.dumps(place, ensure_ascii=False).encode()


def each_kind() -> list[tuple[str, bytes]]:
    """One content of each kind, with the server's name for the kind."""
    return [("text", text()), ("audio", audio()), ("picture", picture()), ("location", location())]
