"""Against the real server: features that only `tagged37` has."""

from __future__ import annotations

from dialects import samples
from dialects.case import ServedCase
from dialects.pictures import Picture
from dialects.store import Content
from dialects.wires import cuts, messages, tagged37
from dialects.wires.tagged37 import HEARTBEAT, TAG


class Tagged37Tests(ServedCase):
    def test_heartbeats_between_messages(self) -> None:
        content = samples.picture()
        with self.tagged37() as client:
            client.beat()
            for message in messages.upload(1, content, piece=64):
                client.say(message)
                client.beat()
            client.beat()
            self.assert_stored(client.result(), "picture", content, 1)

    def test_heartbeats_glued_and_cut(self) -> None:
        for number, cut in enumerate([cuts.every(1), *map(cuts.anywhere, range(6))]):
            words = [samples.text("心跳 😀") for _ in range(5)]
            encoded = (tagged37.encode(messages.text(7, text.decode())) for text in words)
            with self.subTest(number), self.tagged37() as client:
                client.send(HEARTBEAT + HEARTBEAT.join(encoded), cut)
                for text in words:
                    self.assert_stored(client.result(), "text", text, 7)

    def test_what_almost_is_a_tag_is_skipped(self) -> None:
        for rubbish in (b"V", b"V0", b"V0.", b"V0.V0.", b"V0.2", b"v0.1", b"\0" * 100, b'{"id":1}', b"V0.0" * 1000):
            words = samples.text()
            with self.subTest(rubbish), self.tagged37() as client:
                client.send(rubbish)
                client.say(messages.text(1, words.decode()))
                self.assert_stored(client.result(), "text", words, 1)

    def test_much_may_be_skipped_in_all(self) -> None:
        words = [samples.text() for _ in range(3)]
        with self.tagged37() as client:
            for id, text in enumerate(words, start=1):
                client.send(b"-" * (1 << 20))
                client.say(messages.text(id, text.decode()))
                self.assert_stored(client.result(), "text", text, id)

    def test_a_tag_in_a_text(self) -> None:
        words = samples.text(f'{TAG.decode()} }}{{ \\" ' + "V0.1")
        for counts_bytes in (False, True):
            with self.tagged37(counts_bytes) as client:
                client.say(messages.text(1, words.decode()), messages.text(2, words.decode()))
                for id in (1, 2):
                    self.assert_stored(client.result(), "text", words, id)

    def test_results_are_ascii(self) -> None:
        content = samples.text()
        with self.tagged37() as client:
            client.say(*messages.upload(1, content, name="你好 😀.txt"))
            front = client.read(tagged37.SIZE)
            self.assertEqual(front[12:], b"00000023" + tagged37.ZEROS)
            body = client.read(int(front[4:12]) - tagged37.SIZE)
            self.assertIn(rb"\u4f60\u597d \ud83d\ude00.txt", body.lower())
            self.store.claim("你好 😀.txt", "text", Content.of(content))

    def test_the_longest_chunks(self) -> None:
        content = Picture.of_about(1_000_000, seed=5).content
        with self.tagged37() as client:
            for message in messages.upload(1, content, messages.LONGEST_CHUNK, name="long.png"):
                client.say(message)
            self.assert_stored(client.result(), "picture", content, 1)
