"""Against the real server: features that only `header7` has."""

from __future__ import annotations

from dialects import samples
from dialects.case import ServedCase
from dialects.pictures import Picture
from dialects.wires import header7, messages
from dialects.wires.messages import Function, Message

_MEGABYTE = 1_000_000


class Header7Tests(ServedCase):
    def test_a_large_picture(self) -> None:
        for compressed, piece in ((False, messages.CHUNK), (True, messages.CHUNK), (True, messages.LONGEST_CHUNK)):
            content = Picture.of_about(5 * _MEGABYTE, seed=piece + compressed).content
            with self.subTest(compressed=compressed, piece=piece), self.header7(compressed) as client:
                for message in messages.upload(1, content, piece, name=f"{piece}-{compressed}.png"):
                    client.say(message)
                self.assert_stored(client.result(), "picture", content, 1)

    def test_a_large_picture_with_a_broken_digest(self) -> None:
        content = Picture.of_about(_MEGABYTE, seed=1).content
        with self.header7(compressed=True) as client:
            for message in messages.upload(1, content, digest="00" * 32, name="broken.png"):
                client.say(message)
            result = client.result()
            self.assertEqual((result.id, result.result, result.path), (1, "digestMismatch", None))

    def test_messages_of_both_forms_in_one_stream(self) -> None:
        content = samples.picture()
        with self.header7() as client:
            for number, message in enumerate(messages.upload(1, content, piece=50)):
                client.send(header7.encode(message, compressed=bool(number % 2)))
            self.assert_stored(client.result(), "picture", content, 1)

    def test_the_longest_body_that_is_not_compressed(self) -> None:
        empty = header7.body(messages.text(1, ""))
        words = "x" * (65_535 - len(empty))
        with self.header7() as client:
            client.say(messages.text(1, words))
            self.assert_stored(client.result(), "text", words.encode(), 1)

    def test_the_longest_body_that_is(self) -> None:
        empty = header7.body(messages.text(1, ""))
        words = "x" * (131_072 - len(empty))
        with self.header7(compressed=True) as client:
            client.say(messages.text(1, words))
            self.assert_stored(client.result(), "text", words.encode(), 1)

    def test_answers_are_like_the_header_says(self) -> None:
        with self.header7() as client:
            client.say(Message(Function.PING))
            self.assertEqual(client.read(9), bytes.fromhex("00 01 00 04 00 00 02 7b 7d"))
