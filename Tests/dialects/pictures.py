"""PNG pictures of any size, which are made while they are sent."""

from __future__ import annotations

import hashlib
import random
import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass

_SIGNATURE = b"\x89PNG\r\n\x1a\n"
# Bytes for length, name and checksum of a chunk.
_AROUND = 12
# Width, height, 8 bits, RGB, and default methods (PNG, 11.2.1).
_HEADER = struct.Struct(">IIBBBBB")
# The header of a zlib stream without compression, and the checksum's size (RFC 1950).
_STREAM, _CHECK = b"\x78\x01", 4
# The header of a stored block, which holds 65,535 bytes at most (RFC 1951, 3.2.4).
_BLOCK = struct.Struct("<BHH")
_WIDEST = (65_535 - 1) // 3


def _chunk(name: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))


@dataclass(frozen=True)
class Picture:
    """Noise of that many pixels. Each row is a stored block in its own chunk, so the size is known in advance."""

    width: int
    height: int
    seed: int

    @classmethod
    def of_about(cls, size: int, seed: int) -> Picture:
        """The largest picture with rows of full width and at most that many bytes."""
        one, two = cls(_WIDEST, 1, seed).size, cls(_WIDEST, 2, seed).size
        return cls(_WIDEST, 1 + (size - one) // (two - one), seed)

    @property
    def size(self) -> int:
        rows = self.height * (_AROUND + _BLOCK.size + 1 + 3 * self.width)
        return len(_SIGNATURE) + _AROUND + _HEADER.size + len(_STREAM) + rows + _CHECK + _AROUND

    def pieces(self) -> Iterator[bytes]:
        """The file from its beginning to its end, a row at a time."""
        yield _SIGNATURE + _chunk(b"IHDR", _HEADER.pack(self.width, self.height, 8, 2, 0, 0, 0))
        source, check = random.Random(self.seed), 1
        for row in range(self.height):
            # The filter type 0, then the pixels.
            data = b"\0" + source.randbytes(3 * self.width)
            check = zlib.adler32(data, check)
            is_last = row == self.height - 1
            block = _BLOCK.pack(is_last, len(data), len(data) ^ 0xFFFF) + data
            yield _chunk(b"IDAT", (b"" if row else _STREAM) + block + (struct.pack(">I", check) if is_last else b""))
        yield _chunk(b"IEND", b"")

    @property
    def content(self) -> bytes:
        """The whole file at once."""
        return b"".join(self.pieces())

    @property
    def digest(self) -> str:
        """SHA-256 of the file, computed without keeping the file in memory."""
        state = hashlib.sha256()
        for piece in self.pieces():
            state.update(piece)
        return state.hexdigest()
