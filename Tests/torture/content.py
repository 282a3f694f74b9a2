"""Sizes and contents of files."""

from __future__ import annotations

import hashlib
import random
from pathlib import Path

KIB = 1 << 10
MIB = 1 << 20

# Size of a block of the digest. The server keeps uploads of up to one block differently from longer ones.
BLOCK = 4 * MIB

# A file of this size or more is sent in parts.
PARTS = 32 * MIB

_READ = 4 * MIB

_WORDS = [b"listening ", b"stored ", b"connection lost\n", b"127.0.0.1:5288 ", b"2026-01-01T00:00:00Z ", b"0x1f "]


def size(source: random.Random, huge: bool) -> int:
    """The size of a file in bytes; `huge` allows sizes that are sent in parts."""
    kind = source.random()
    if huge and kind < 0.5:
        return source.randint(40 * MIB, 100 * MIB)
    if kind < 0.12:
        return 0
    if kind < 0.2:
        return 1
    if kind < 0.65:
        return source.randint(2, 8 * KIB)
    if kind < 0.85:
        # Sizes around the longest body with a short header.
        return source.randint(60 * KIB, 70 * KIB)
    if kind < 0.93:
        return BLOCK + source.choice([-1, 0, 1, 4 * KIB])
    return source.randint(1 * MIB, 9 * MIB)


def make(count: int, source: random.Random) -> bytes:
    """Content of that many bytes, sometimes with a high compression ratio."""
    if source.random() < 0.7:
        return source.randbytes(count)
    words = b"".join(source.choice(_WORDS) + source.randbytes(2) for _ in range(1 + min(count, 64 * KIB) // 8))
    return (words * (1 + count // len(words)))[:count]


def digest(data: bytes) -> str:
    """The digest that the tests use. It is not the program's own function, because that is being tested."""
    return hashlib.blake2b(data, digest_size=16).hexdigest()


def digest_of(path: Path) -> str:
    """The digest of the content of a file."""
    state = hashlib.blake2b(digest_size=16)
    with path.open("rb") as file:
        while data := file.read(_READ):
            state.update(data)
    return state.hexdigest()
