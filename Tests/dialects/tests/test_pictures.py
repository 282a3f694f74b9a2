from __future__ import annotations

import hashlib
import struct
import unittest
import zlib
from collections.abc import Iterator

from dialects.pictures import Picture


def _chunks(data: bytes) -> Iterator[tuple[bytes, bytes]]:
    position = 8
    while position < len(data):
        length, name = struct.unpack_from(">I4s", data, position)
        content = data[position + 8 : position + 8 + length]
        [check] = struct.unpack_from(">I", data, position + 8 + length)
        assert check == zlib.crc32(name + content)
        yield name, content
        position += 12 + length


class PictureTests(unittest.TestCase):
    def test_is_a_png(self) -> None:
        data = Picture(5, 3, seed=1).content
        self.assertEqual(data[:8], b"\x89PNG\r\n\x1a\n")
        chunks = list(_chunks(data))
        self.assertEqual([name for name, _ in chunks], [b"IHDR", b"IDAT", b"IDAT", b"IDAT", b"IEND"])
        rows = zlib.decompress(b"".join(content for name, content in chunks if name == b"IDAT"))
        self.assertEqual(len(rows), 3 * (1 + 3 * 5))
        self.assertEqual(rows[:: 1 + 3 * 5], b"\0\0\0")

    def test_size_and_digest_are_known_beforehand(self) -> None:
        for picture in (Picture(1, 1, seed=2), Picture(21_844, 2, seed=3), Picture.of_about(500_000, seed=4)):
            self.assertEqual(picture.size, len(picture.content))
            self.assertEqual(picture.digest, hashlib.sha256(picture.content).hexdigest())

    def test_is_about_as_large_as_asked(self) -> None:
        size = Picture.of_about(8_000_000, seed=1).size
        self.assertTrue(7_900_000 < size <= 8_000_000, size)
