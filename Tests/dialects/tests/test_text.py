"""Against the real server: the framing of C strings."""

from __future__ import annotations

from dialects import samples
from dialects.case import ServedCase
from dialects.store import now
from dialects.wires import cuts, text


class TextTests(ServedCase):
    def setUp(self) -> None:
        self.since = now()

    def assert_left(self, client: text.Client) -> None:
        """The server has closed the connection without any answer."""
        self.assertEqual(client.rest(), b"")

    def test_texts_with_rubbish_behind_them(self) -> None:
        texts = [samples.text() for _ in range(10)]
        with self.text() as client:
            client.say(*texts, text.EXIT)
            self.assert_left(client)
        for content in texts:
            self.await_made("text", content, self.since)

    def test_cut_anywhere(self) -> None:
        for number, cut in enumerate([cuts.every(1), cuts.every(7), cuts.every(1_023), *map(cuts.anywhere, range(4))]):
            texts = [samples.text() for _ in range(3)]
            with self.subTest(number), self.text() as client:
                client.say(*texts, text.EXIT, cut=cut)
                self.assert_left(client)
                for content in texts:
                    self.await_made("text", content, self.since)

    def test_lengths(self) -> None:
        texts = [b"", b"x", b"y" * 1_022, b"z" * 1_023, b"full" * 256]
        with self.text() as client:
            client.say(*texts)
            client.leave()
            self.assert_left(client)
        for content in texts:
            self.await_made("text", content, self.since)

    def test_only_the_word_itself_is_the_end(self) -> None:
        texts = [b"exit now", b"exi", b"EXIT", b" exit", b"exit\n"]
        with self.text() as client:
            client.say(*texts, text.EXIT, b"behind the end")
            self.assert_left(client)
        for content in texts:
            self.await_made("text", content, self.since)

    def test_the_end_of_the_stream_ends_it_too(self) -> None:
        content = samples.text()
        with self.text() as client:
            client.say(content)
            client.send(text.buffer(b"half of one")[:1_000])
            client.finish()
            self.assert_left(client)
        self.await_made("text", content, self.since)

    def test_what_is_not_utf_8_is_kept_as_a_file(self) -> None:
        content = b"\xff\xfe caf\xe9 " + samples.text()
        with self.text() as client:
            client.say(content, text.EXIT)
            self.assert_left(client)
        self.await_made("file", content, self.since)

    def test_several_connections(self) -> None:
        def talk(number: int) -> None:
            texts = [samples.text() for _ in range(5)]
            with self.text() as client:
                client.say(*texts, text.EXIT, cut=cuts.anywhere(number))
                self.assert_left(client)
            for content in texts:
                self.await_made("text", content, self.since)

        self.at_once(8, talk)
