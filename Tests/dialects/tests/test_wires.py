"""The bytes that the clients send and read, as in the descriptions of the framings."""

from __future__ import annotations

import socket
import unittest
import zlib

from dialects.wires import header7, messages, sized, tagged37, text
from dialects.wires.connection import Ended
from dialects.wires.messages import Function, Message, Result

_RESULT = b'{"id":1,"code":1,"result":"committed","path":"\\u4f60.txt"}'


class WireCase(unittest.TestCase):
    def setUp(self) -> None:
        self.ours, self.peer = socket.socketpair()
        self.addCleanup(self.ours.close)
        self.addCleanup(self.peer.close)


class SizedTests(WireCase):
    def test_upload(self) -> None:
        self.assertEqual(sized.upload(sized.Type.TEXT, b"hello").hex(" "), "0d 00 00 00 01 00 00 00 68 65 6c 6c 6f")

    def test_upload_of_the_second_program(self) -> None:
        self.assertEqual(
            sized.content_upload(sized.Type.LOCATION, b"geo:").hex(" "), "04 00 00 00 04 00 00 00 67 65 6f 3a"
        )

    def test_numbers_may_be_negative(self) -> None:
        self.assertEqual(sized.head(-1, -2).hex(" "), "ff ff ff ff fe ff ff ff")

    def test_answers(self) -> None:
        client = sized.Client(self.ours)
        self.peer.sendall(bytes.fromhex("0c000000 03000000 01000000 0c000000 09000000 00000000 0c"))
        self.assertEqual(client.answer(), sized.stored(sized.Type.PICTURE))
        self.assertEqual(client.answer(), sized.failed(9))
        self.peer.close()
        with self.assertRaisesRegex(Ended, "1 of 12 bytes came: 0c"):
            client.answer()


class Header7Tests(WireCase):
    def test_message(self) -> None:
        encoded = header7.encode(messages.text(2, "ä"))
        self.assertEqual(encoded, bytes.fromhex("0001 0040 00 0014") + '{"id":2,"text":"ä"}'.encode())

    def test_compressed(self) -> None:
        encoded = header7.encode(messages.text(2, "hello"), compressed=True)
        self.assertEqual(encoded[:5].hex(), "0001004001")
        self.assertEqual(int.from_bytes(encoded[5:7], "big"), len(encoded) - 7)
        self.assertEqual(zlib.decompress(encoded[7:]), b'{"id":2,"text":"hello"}')

    def test_without_a_body(self) -> None:
        self.assertEqual(header7.encode(Message(Function.PING)).hex(), "00010003000000")

    def test_result(self) -> None:
        self.peer.sendall(bytes.fromhex("0001 0017 00") + len(_RESULT).to_bytes(2, "big") + _RESULT)
        self.assertEqual(header7.Client(self.ours).result(), Result(1, 1, "committed", None, "你.txt", None))

    def test_a_server_never_compresses(self) -> None:
        self.peer.sendall(header7.encode(messages.text(1, ""), compressed=True))
        with self.assertRaises(ValueError):
            header7.Client(self.ours).receive()


class Tagged37Tests(WireCase):
    def test_counts_code_units(self) -> None:
        encoded = tagged37.encode(messages.text(1, "你好 😀"))
        front, data = encoded[:37], encoded[37:]
        self.assertEqual(front, b"V0.1" + b"00000071" + b"00000064" + b"0" * 17)
        self.assertEqual(data.decode(), '{\n  "id" : 1,\n  "text" : "你好 😀"\n}')
        self.assertEqual(len(data), 40)

    def test_counts_bytes(self) -> None:
        self.assertEqual(tagged37.encode(messages.text(1, "你好 😀"), counts_bytes=True)[:12], b"V0.100000077")

    def test_heartbeat(self) -> None:
        self.assertEqual(len(tagged37.HEARTBEAT), 15)

    def test_result(self) -> None:
        self.peer.sendall(tagged37.header(37 + len(_RESULT), 23) + _RESULT)
        self.assertEqual(tagged37.Client(self.ours).result().path, "你.txt")

    def test_a_server_escapes(self) -> None:
        self.peer.sendall(tagged37.encode(messages.text(1, "你"), counts_bytes=True))
        with self.assertRaises(UnicodeDecodeError):
            tagged37.Client(self.ours).receive()


class TextTests(unittest.TestCase):
    def test_buffer(self) -> None:
        self.assertEqual(text.buffer(b"Hello", b"abcdefghij"), b"Hello\0ghij" + b"\xcc" * 1_014)
        self.assertEqual(text.buffer(b"x" * 1_024, text.rubbish(1)), b"x" * 1_024)
        self.assertEqual(len(text.buffer(b"x" * 1_023)), 1_024)

    def test_rubbish_has_an_end_in_it(self) -> None:
        self.assertIn(b"\0exit\0", text.rubbish(1))
        self.assertEqual(len(text.rubbish(1)), 1_024)


class MessagesTests(unittest.TestCase):
    def test_upload(self) -> None:
        begin, first, second, end = messages.upload(7, b"abc", piece=2, name="a")
        self.assertEqual(begin, Message(16, {"id": 7, "name": "a"}))
        self.assertEqual([first.body, second.body], [{"id": 7, "data": "YWI="}, {"id": 7, "data": "Yw=="}])
        digest = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        self.assertEqual(end, Message(20, {"id": 7, "size": 3, "sha256": digest}))

    def test_without_a_digest(self) -> None:
        self.assertEqual(messages.end(7, b"", None).body, {"id": 7, "size": 0})

    def test_no_result(self) -> None:
        with self.assertRaises(ValueError):
            Result.of(Message(Function.PONG, {}))
