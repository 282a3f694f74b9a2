"""Against the real server: invalid uploads in the framing `sized`."""

from __future__ import annotations

from dialects import samples
from dialects.case import ServedCase
from dialects.store import now
from dialects.wires import cuts, sized
from dialects.wires.sized import Type

_LARGEST = (1 << 31) - 1
_SMALLEST = -(1 << 31)


class BadSizedTests(ServedCase):
    options = ("--max-upload", "1M")

    def assert_failed(self, client: sized.Client, type: int) -> None:
        """The server sends the framing's answer for a failure and closes the connection."""
        self.assertEqual(client.answer(), sized.failed(type))
        self.assertEqual(client.rest(), b"")

    def test_totals_that_count_less_than_themselves(self) -> None:
        for total in (*range(8), -1, -8, _SMALLEST):
            for type in (Type.TEXT, Type.PICTURE):
                with self.subTest(total=total, type=type):
                    with self.sized() as client:
                        client.send(sized.head(total, type))
                        self.assert_failed(client, type)
                    self.assert_served()

    def test_types_that_there_are_not(self) -> None:
        for type in (0, 5, 6, 255, 0x0100_0000, -1, _LARGEST, _SMALLEST):
            with self.subTest(type):
                with self.sized() as client:
                    client.send(sized.head(12, type) + b"text")
                    self.assert_failed(client, type)
                self.assert_served()

    def test_a_fault_is_known_before_any_content(self) -> None:
        with self.sized() as client:
            client.send(sized.head(_LARGEST, 9))
            self.assert_failed(client, 9)

    def test_heads_of_another_kind_of_machine(self) -> None:
        """Big-endian numbers are absurd when read as little-endian."""
        with self.sized() as client:
            client.send(bytes.fromhex("0000000d 00000001") + b"hello")
            self.assert_failed(client, 0x0100_0000)
        self.assert_served()

    def test_more_than_the_server_takes(self) -> None:
        since, content = now(), samples.text()
        with self.sized() as client:
            client.upload(Type.AUDIO, b"x" * 1_100_000)
            client.upload(Type.TEXT, content)
            self.assertEqual(client.answer(), sized.failed(Type.AUDIO))
            self.assertEqual(client.answer(), sized.stored(Type.TEXT))
            self.assert_made("text", content, since)
        self.assert_served()

    def test_much_more_is_refused_before_it_has_come(self) -> None:
        with self.sized() as client:
            client.send(sized.head(_LARGEST, Type.AUDIO) + b"x" * 1_000_000)
            self.assertEqual(client.answer(), sized.failed(Type.AUDIO))
        self.assert_served()

    def test_what_was_stored_before_a_fault_stays(self) -> None:
        since, first, last = now(), samples.text(), samples.text()
        stream = sized.upload(Type.TEXT, first) + sized.head(3, Type.AUDIO) + sized.upload(Type.TEXT, last)
        for cut in (cuts.whole, cuts.every(1)):
            with self.sized() as client:
                client.send_what_is_taken(stream, cut)
                self.assertEqual(client.answer(), sized.stored(Type.TEXT))
                self.assert_made("text", first, since)
                self.assert_failed(client, Type.AUDIO)
        self.assert_served()

    def test_other_protocols(self) -> None:
        for greeting in samples.GREETINGS:
            with self.subTest(greeting), self.sized() as client:
                client.send(greeting)
                self.assertEqual(client.answer().result, 0)
                self.assertEqual(client.rest(), b"")
        self.assert_served()
