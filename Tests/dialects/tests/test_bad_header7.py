"""Against the real server: invalid headers and invalid compression."""

from __future__ import annotations

import gzip
import zlib

from dialects import samples
from dialects.case import ServedCase
from dialects.wires import header7, messages
from dialects.wires.messages import Function, Message, Result

_TEXT = header7.body(messages.text(1, "x" * 100))
_ZLIB = zlib.compress(_TEXT)

_LONGEST = 131_072


class BadHeader7Tests(ServedCase):
    def assert_fault(self, stream: bytes, *codes: int) -> Result:
        """The server sends one result with an error and closes the connection. It still serves other clients."""
        with self.header7() as client:
            client.send_what_is_taken(stream)
            result = client.result()
            self.assertEqual(client.rest(), b"")
        self.assertGreaterEqual(result.code, 100)
        self.assertNotEqual(result.result, "timedOut", "it was taken for right")
        self.assertIn(result.code, codes or (result.code,), result)
        self.assert_served()
        return result

    def test_versions(self) -> None:
        for version in (0, 2, 3, 0x0100, 0xFFFF):
            with self.subTest(version):
                result = self.assert_fault(header7.frame(Function.PING, b"{}", version=version), 101)
                self.assertEqual(result.id, 0)

    def test_a_version_is_known_by_its_header_alone(self) -> None:
        self.assert_fault(header7.frame(Function.TEXT, b"x" * 65_535, version=3)[:7], 101)

    def test_compressions_that_there_are_not(self) -> None:
        for compression in (2, 3, 128, 255):
            with self.subTest(compression):
                self.assert_fault(header7.frame(Function.TEXT, _TEXT, compression))

    def test_streams_that_are_not_one(self) -> None:
        cases = {
            "cut": _ZLIB[:-1],
            "without a check": _ZLIB[:-4],
            "another check": _ZLIB[:-1] + bytes([_ZLIB[-1] ^ 1]),
            "more behind": _ZLIB + b"\0",
            "two": _ZLIB * 2,
            "raw": _ZLIB[2:-4],
            "gzip": gzip.compress(_TEXT),
            "none": _TEXT,
            "damaged": _ZLIB[:10] + bytes([_ZLIB[10] ^ 0xFF]) + _ZLIB[11:],
        }
        for name, body in cases.items():
            with self.subTest(name):
                self.assert_fault(header7.frame(Function.TEXT, body, 1))

    def test_a_stream_of_nothing(self) -> None:
        self.assert_fault(header7.frame(Function.TEXT, b"", 1))
        self.assert_fault(header7.frame(Function.TEXT, zlib.compress(b""), 1))

    def test_what_inflates_to_too_much(self) -> None:
        for count in (_LONGEST - len(_TEXT) + 101, 1 << 20, 40_000_000):
            body = zlib.compress(header7.body(messages.text(1, "x" * count)), 9)
            with self.subTest(count):
                self.assert_fault(header7.frame(Function.TEXT, body, 1))

    def test_a_chunk_that_is_too_long(self) -> None:
        message = messages.chunk(1, b"x" * (messages.LONGEST_CHUNK + 3))
        begin = header7.encode(Message(Function.BEGIN, {"id": 1}))
        self.assert_fault(begin + header7.encode(message, compressed=True))

    def test_bodies_that_are_no_object(self) -> None:
        for body in (b"", b"null", b"[]", b"[{}]", b'"x"', b"7", b"x", b"\xef\xbb\xbf{}", b"\0" * 10):
            with self.subTest(body):
                self.assert_fault(header7.frame(Function.TEXT, body))

    def test_blanks_around_an_object_are_none_of_these(self) -> None:
        content = samples.text()
        body = b" \t\r\n" + header7.body(messages.text(1, content.decode())) + b"\n "
        with self.header7() as client:
            client.send(header7.frame(Function.TEXT, body))
            self.assert_stored(client.result(), "text", content, 1)

    def test_other_protocols(self) -> None:
        for greeting in samples.GREETINGS:
            with self.subTest(greeting):
                self.assert_fault(greeting, 101)
