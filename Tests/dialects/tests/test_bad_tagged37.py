"""Against the real server: invalid headers, and lengths that match no way of counting."""

from __future__ import annotations

from dialects.case import ServedCase
from dialects.wires import messages, tagged37
from dialects.wires.messages import Function
from dialects.wires.tagged37 import SIZE, TAG, ZEROS

_JSON = tagged37.pretty({"id": 1, "text": "x"}).encode()
_CHINESE = tagged37.pretty({"id": 1, "text": "你好 😀"})
_LENGTH = b"%08d" % (SIZE + len(_JSON))
_TYPE = b"%08d" % Function.TEXT
_NO_DIGITS = (b"0000003x", b"      68", b"+0000068", b"-0000068", b"0x000044", b"6.800000", b"\0" * 8, b"0000006\xb2")
_SKIPPED = 1 << 20


class BadTagged37Tests(ServedCase):
    def assert_fault(self, stream: bytes) -> None:
        """The server sends one result with an error and closes the connection. It still serves other clients."""
        with self.tagged37() as client:
            client.send_what_is_taken(stream)
            result = client.result()
            self.assertGreaterEqual(result.code, 100, result)
            self.assertNotEqual(result.result, "timedOut", "it was taken for right")
            self.assertEqual(client.rest(), b"")
        self.assert_served()

    def test_digits_that_are_none(self) -> None:
        for digits in _NO_DIGITS:
            with self.subTest(digits):
                self.assert_fault(TAG + digits + _TYPE + ZEROS + _JSON)
                self.assert_fault(TAG + _LENGTH + digits + ZEROS + _JSON)

    def test_zeros_that_are_none(self) -> None:
        for zeros in (b"0" * 16 + b"1", b"1" + b"0" * 16, b" " * 17, b"\0" * 17, b"0" * 16 + b"{"):
            with self.subTest(zeros):
                self.assert_fault(TAG + _LENGTH + _TYPE + zeros + _JSON)

    def test_lengths_that_are_nobodys(self) -> None:
        right = SIZE + len(_JSON)
        for length in (0, 1, 36, 37, 38, len(_JSON), right - 1, right + 1, 99_999_999):
            with self.subTest(length):
                self.assert_fault(tagged37.header(length, Function.TEXT) + _JSON)

    def test_lengths_between_characters_and_bytes(self) -> None:
        units, count = tagged37.units(_CHINESE), len(_CHINESE.encode())
        # `units - 1` is the number of characters.
        for length in (units - 1, units + 1, count - 1, count + 1):
            with self.subTest(length):
                self.assert_fault(tagged37.header(SIZE + length, Function.TEXT) + _CHINESE.encode())

    def test_json_that_is_no_object(self) -> None:
        for data in (b"[]", b'"x"', b"7 ", b"null", b"xx", b"]}", b"\xff\xfe"):
            with self.subTest(data):
                self.assert_fault(tagged37.header(SIZE + len(data), Function.TEXT) + data)

    def test_json_that_never_ends(self) -> None:
        for data in (b'{"id":1,"text":"' + b"x" * 200_000, b'{"a":' * 100_000, b"{" + b" " * 200_000, b"[" * 200_000):
            with self.subTest(data[:20]):
                self.assert_fault(tagged37.header(99_999_999, Function.TEXT) + data)

    def test_json_that_has_no_end_before_the_next_message(self) -> None:
        for data in (b"{", b'{"id":1,"text":"x"', b'{"id":1,"text":"x'):
            with self.subTest(data):
                self.assert_fault(tagged37.header(SIZE + len(data), Function.TEXT) + data + TAG + _LENGTH)

    def test_more_to_skip_than_there_may_be(self) -> None:
        for word in (b"-", tagged37.HEARTBEAT, b"V0."):
            with self.subTest(word):
                self.assert_fault(word * (_SKIPPED // len(word) + 100))

    def test_messages_without_a_header(self) -> None:
        """The server skips messages without a header, like all other bytes between messages."""
        words = "behind them"
        with self.tagged37() as client:
            client.send(_JSON * 3)
            client.say(messages.text(2, words))
            self.assert_stored(client.result(), "text", words.encode(), 2)
