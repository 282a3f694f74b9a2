"""Against the real server: invalid messages, over both framings that carry messages."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable
from typing import Any

from dialects import samples
from dialects.case import ServedCase
from dialects.wires import messages
from dialects.wires.messages import Function, Message, MessageClient, Result

_DEEPEST = 16


def _text(**members: Any) -> Message:
    return Message(Function.TEXT, {"id": 1, "text": "x", **members})


def _begin(**members: Any) -> Message:
    return Message(Function.BEGIN, {"id": 1, **members})


def _nested(depth: int, front: str = "[", back: str = "]") -> bytes:
    """A text with a member so deep that the whole object is one level deeper."""
    return f'{{"id":1,"text":"x","more":{front * depth}0{back * depth}}}'.encode()


# Bodies of text messages, none of which the server accepts as a JSON object.
_NO_OBJECTS = (
    b"{}}", b'{"id":1,"text":"x",}', b"{id:1}", b"{'id':1}", b'{"id":01,"text":"x"}',
    b'{"id":1,"text":"\xff"}', b'{"id":1,"text":"\xc0\xaf"}', b'{"id":1,"text":"\xed\xa0\x80"}',
    b'{"id":1,"text":"\\ud800"}', b'{"id":1,"text":"\\u0000"}', b'{"id":1,"text":"a\nb"}', b'{"id":1,"text":"\\x"}',
    b'{"id":1,"id":1,"text":"x"}', b'{"id":1,"\\u0069d":2,"text":"x"}', b'{"id":NaN,"text":"x"}',
    b'{"id":1,"text":"x"/**/}', _nested(_DEEPEST), _nested(10_000), _nested(5_000, '{"a":', "}"),
    b'{"id":1,"text":"x","more":' + b"[" * 60_000,
)  # fmt: skip

_IDS: tuple[object, ...] = (0, -1, 1.5, "1", True, [1], {}, None, 9_007_199_254_740_993, 1 << 64, 10**300)
_SIZES: tuple[object, ...] = (-1, 1.5, "5", True, [], 1 << 63, 1 << 64)

# Pairs of a first message, or None, and a message that may not follow it.
_OUT_OF_TURN: tuple[tuple[Message | None, Message], ...] = (
    (None, messages.chunk(1, b"x")),
    (None, messages.end(1, b"")),
    (None, Message(Function.ABORT, {"id": 1})),
    (_begin(), _begin()),
    (_begin(), _begin(id=2)),
    (_begin(), _text()),
    (_begin(), messages.chunk(2, b"x")),
    (_begin(), messages.end(2, b"")),
    (_begin(), Message(Function.ABORT, {"id": 2})),
)

_FUNCTIONS = (0, 1, 2, 6, 15, 17, 19, 22, 24, 63, 65, 1_000, 65_535)

_DATA = ("a", "====", "aGk=aGk=", "aG\nk=", "aGk=\n", "a-_=", "aGk\u0000", "你好你好", 7, None, ["aGk="])


class BadConversations:
    """The tests of both framings, without the encoding of messages."""

    class Case(ServedCase):
        def client(self) -> MessageClient:
            raise NotImplementedError

        def faults(self, *parts: Message) -> list[Result]:
            """All results until the server closes the connection."""
            results = []
            with self.client() as client:
                client.say(*parts)
                while True:
                    try:
                        results.append(client.result())
                    except EOFError:
                        return results

        def assert_fault(self, parts: Iterable[Message], *codes: int) -> Result:
            """The server sends one result with an error and closes the connection. It still serves other clients."""
            results = self.faults(*parts)
            self.assertEqual(len(results), 1, results)
            self.assertGreaterEqual(results[0].code, 100, results)
            self.assertNotEqual(results[0].result, "timedOut", "it was taken for right")
            self.assertIn(results[0].code, codes or (results[0].code,))
            self.assert_served()
            return results[0]

        def test_json_that_is_none(self) -> None:
            for body in _NO_OBJECTS:
                with self.subTest(body[:60]):
                    self.assert_fault([Message(Function.TEXT, body)])

        def test_as_deep_as_may_be(self) -> None:
            with self.client() as client:
                client.say(Message(Function.TEXT, _nested(_DEEPEST - 1)))
                self.assert_stored(client.result(), "text", b"x", 1)

        def test_ids(self) -> None:
            for id in _IDS:
                with self.subTest(id=id):
                    self.assert_fault([Message(Function.TEXT, json.dumps({"id": id, "text": "x"}).encode())])
            self.assert_fault([Message(Function.TEXT, {"text": "x"})])

        def test_the_largest_id(self) -> None:
            content = samples.text()
            with self.client() as client:
                client.say(messages.text(1 << 53, content.decode()))
                self.assert_stored(client.result(), "text", content, 1 << 53)

        def test_texts(self) -> None:
            for text in ("null", "1", '["x"]', "{}"):
                with self.subTest(text):
                    self.assert_fault([Message(Function.TEXT, f'{{"id":1,"text":{text}}}'.encode())])

        def test_members_of_the_beginning(self) -> None:
            cases: list[messages.Object] = [{"size": size} for size in _SIZES]
            cases += [{"kind": kind} for kind in ("video", "", 1)]
            for members in [*cases, {"name": 1}, {"name": ["a"]}]:
                with self.subTest(members):
                    self.assert_fault([_begin(**members)])

        def test_members_of_the_end(self) -> None:
            content = b"hi"
            begin, chunk, _ = messages.upload(1, content)
            cases: list[messages.Object] = [{"size": size} for size in (*_SIZES, None)]
            cases += [{"size": 2, "sha256": digest} for digest in ("", "ab", "ab" * 31 + "a", "zz" * 32, "ab" * 33, 1)]
            for members in cases:
                with self.subTest(members):
                    self.assert_fault([begin, chunk, Message(Function.END, {"id": 1, **members})])

        def test_data_that_is_no_base64(self) -> None:
            for data in _DATA:
                with self.subTest(data=data):
                    self.assert_fault([_begin(), Message(Function.CHUNK, {"id": 1, "data": data})])

        def test_out_of_turn(self) -> None:
            for before, message in _OUT_OF_TURN:
                with self.subTest(before=before, message=message):
                    result = self.assert_fault([part for part in (before, message) if part], 104)
                    assert isinstance(message.body, dict)
                    self.assertEqual(result.id, message.body["id"])

        def test_functions_that_there_are_not(self) -> None:
            for function in _FUNCTIONS:
                with self.subTest(function):
                    self.assertEqual(self.assert_fault([Message(function, {"id": 7})], 102).id, 0)

        def test_a_result_from_a_client(self) -> None:
            self.assert_fault([Message(Function.RESULT, {"id": 1, "code": 1, "result": "committed"})])

        def test_nothing_is_served_behind_a_fault(self) -> None:
            self.assert_fault([Message(999, {}), messages.text(1, "behind the fault")], 102)

        def test_what_was_stored_before_a_fault_stays(self) -> None:
            content = samples.text()
            with self.client() as client:
                client.say(messages.text(1, content.decode()), Message(999, {"id": 2}))
                self.assert_stored(client.result(), "text", content, 1)
                result = client.result()
                self.assertEqual((result.id, result.result), (0, "unsupportedFunction"))
                self.assertEqual(client.rest(), b"")

        def test_more_than_the_server_takes(self) -> None:
            """An upload above the limit is no protocol error: the conversation continues."""
            large, content = b"x" * 1_100_000, samples.text()
            with self.client() as client:
                for id, size in enumerate((None, len(large), (1 << 63) - 1), start=1):
                    *front, end = messages.upload(id, large, name="large", size=size)
                    client.say(*front)
                    result = client.result()
                    self.assertEqual((result.id, result.result), (id, "uploadTooLarge"))
                    client.say(end if id % 2 else Message(Function.ABORT, {"id": id}))
                client.say(messages.text(9, content.decode()))
                self.assert_stored(client.result(), "text", content, 9)


class BadHeader7Tests(BadConversations.Case):
    options = ("--max-upload", "1M")

    def client(self) -> MessageClient:
        return self.header7()

    def test_json_that_has_no_end(self) -> None:
        for body in (b"{", b'{"id":1,"text":"x"', b'{"id":1,"text":"x', b'{"id":1,"more":' + b"[" * 60_000):
            with self.subTest(body[:20]):
                self.assert_fault([Message(Function.TEXT, body)])


class BadTagged37Tests(BadConversations.Case):
    options = ("--max-upload", "1M")

    def client(self) -> MessageClient:
        return self.tagged37()

    def test_a_chunk_that_is_too_long(self) -> None:
        data = base64.b64encode(b"x" * (messages.LONGEST_CHUNK + 3)).decode()
        self.assert_fault([_begin(), Message(Function.CHUNK, {"id": 1, "data": data})])
