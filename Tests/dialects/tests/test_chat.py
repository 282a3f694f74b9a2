"""Against the real server: clients of `jsonline` that send to one another, and messages for absent clients."""

from __future__ import annotations

import socket
import threading
import time
import unittest
from collections.abc import Callable

from dialects import samples
from dialects.case import ServedCase
from dialects.pictures import Picture
from dialects.server import Server
from dialects.store import now
from dialects.wires import cuts, jsonline
from dialects.wires.connection import PATIENCE, Connection, Ended
from dialects.wires.jsonline import PICTURE, TEXT, Client, Forwarded

_CROWD = 50
# Size in bytes of a picture that those programs send.
_LARGE = 20_000_000


def forwarded(source: str, type: str, body: bytes) -> Forwarded:
    return Forwarded(type, source, body)


class ChatCase(ServedCase):
    classic = ("jsonline",)

    def delivered(self, to: str) -> int:
        return sum(event["to"] == to for event in self.server.log.events("delivered"))

    def await_delivered(self, client: Client, count: int) -> None:
        """Sends heartbeats until the server considers that many messages as delivered to the client."""
        deadline = time.monotonic() + PATIENCE
        while self.delivered(client.name) < count:
            self.assertLess(time.monotonic(), deadline, self.server.log.tail())
            client.beat()
            try:
                self.server.log.until(lambda: self.delivered(client.name) >= count, "", patience=0.2)
            except AssertionError:
                continue

    def introduce(self, *names: str) -> None:
        """Makes the names known to the server, without messages waiting for them."""
        for name in names:
            with self.chat(name) as client:
                self.await_here(client)
                self.await_delivered(client, 1)


class ForwardingTests(ChatCase):
    def test_texts_and_pictures(self) -> None:
        with self.chat("ann") as ann, self.chat("ben") as ben:
            self.await_here(ann)
            self.await_here(ben)
            for type, body in ((TEXT, samples.text()), (PICTURE, samples.picture()), (TEXT, b"\xff\xfe\r\n{}")):
                ann.say(type, "ben", body)
                self.assertEqual(ben.receive(), forwarded("ann", type, body))
            ben.say(TEXT, "ann", b"x", cuts.every(1))
            self.assertEqual(ann.receive(), forwarded("ben", TEXT, b"x"))

    def test_large_pictures_at_once_and_in_pieces(self) -> None:
        """Three senders, one of which sends two messages glued together."""
        bodies = {f"sender {number}": Picture.of_about(_LARGE, number).content for number in range(3)}
        with self.chat("taker") as taker:
            self.await_here(taker)

            def send(number: int) -> None:
                name = f"sender {number}"
                with self.chat(name) as client:
                    cut = cuts.whole if number == 2 else cuts.anywhere(number, 1 << 20)
                    times = 2 if number == 2 else 1
                    client.send(times * jsonline.encode(PICTURE, name, "taker", bodies[name]), cut)
                    client.finish()
                    self.assertEqual(client.rest(), b"")

            with taker.beating():
                self.at_once(3, send)
                got = [taker.receive() for _ in range(4)]
                self.assertEqual(sorted(message.source for message in got), ["sender 0", "sender 1", *2 * ["sender 2"]])
                for message in got:
                    self.assertTrue(message.body == bodies[message.source], message.source)
                self.await_delivered(taker, 5)
        self.assertLess(self.server.peak(), 300 << 20)

    def test_many_small_ones_in_one_piece(self) -> None:
        texts = [samples.text() for _ in range(300)]
        with self.chat("fast") as fast, self.chat("slow") as slow:
            self.await_here(slow)
            fast.send(b"".join(jsonline.encode(TEXT, "fast", "slow", text) for text in texts))
            for text in texts:
                self.assertEqual(slow.receive(), forwarded("fast", TEXT, text))

    def test_everybody_to_everybody(self) -> None:
        names = [f"guest {number}" for number in range(_CROWD)]
        clients = {name: self.chat(name) for name in names}
        for client in clients.values():
            self.await_here(client)

        def talk(number: int) -> None:
            client = clients[names[number]]
            for name in names:
                client.say(TEXT, name, f"{client.name} to {name}".encode())
            got = sorted(client.receive().body.decode() for _ in names)
            self.assertEqual(got, sorted(f"{name} to {client.name}" for name in names))

        self.at_once(_CROWD, talk)
        for client in clients.values():
            client.close()

    def test_a_heartbeat_with_a_body(self) -> None:
        with self.chat("body") as client:
            client.send(jsonline.encode("heartB", "body", "", b"still here"))
            self.await_here(client)

    def test_what_is_for_nobody(self) -> None:
        """A message to an unknown name is answered with a text; a message without a target is stored as a file."""
        since, content = now(), samples.text()
        with self.chat("lost") as client:
            client.say(TEXT, "whoever", content)
            self.assertRegex(client.receive().body.decode(), "'whoever'")
            client.say(TEXT, "", content)
            self.await_made("text", content, since)


class AwayTests(ChatCase):
    def test_what_is_for_who_is_away_waits_in_order(self) -> None:
        self.introduce("away")
        bodies = [(TEXT, samples.text()), (PICTURE, samples.picture(300, 200)), (TEXT, samples.text())]
        with self.chat("writer") as writer:
            for type, body in bodies:
                writer.say(type, "away", body)
            writer.finish()
            self.assertEqual(writer.rest(), b"")
        with self.chat("away") as away:
            for type, body in bodies:
                self.assertEqual(away.receive(), forwarded("writer", type, body))
            self.await_delivered(away, 4)

    def test_again_until_it_is_known_to_have_arrived(self) -> None:
        """A client that leaves before its next heartbeat may not have received the message."""
        self.introduce("hasty")
        body = samples.picture(100, 100)
        with self.chat("patient") as patient:
            patient.say(PICTURE, "hasty", body)
            for _ in range(3):
                with self.chat("hasty") as hasty:
                    self.assertEqual(hasty.receive(), forwarded("patient", PICTURE, body))
                    hasty.finish()
                    self.assertEqual(hasty.rest(), b"")
            with self.chat("hasty") as hasty:
                self.assertEqual(hasty.receive(), forwarded("patient", PICTURE, body))
                self.await_delivered(hasty, 2)
            with self.chat("hasty") as hasty:
                self.await_here(hasty)

    def test_who_goes_inside_a_message(self) -> None:
        self.introduce("cut")
        body = Picture.of_about(_LARGE, 7).content
        with self.chat("steady") as steady:
            steady.say(PICTURE, "cut", body)
            for take in (1, 100, 70_000, 9_000_000):
                client = self.chat("cut")
                client.read(take)
                client.reset()
            with self.chat("cut") as client:
                self.assertTrue(client.receive().body == body)


class NameTests(ChatCase):
    def test_the_newest_connection_has_the_name(self) -> None:
        with self.chat("one") as older, self.chat("two") as other:
            self.await_here(older)
            self.await_delivered(older, 1)
            with self.chat("one") as newer:
                self.assertEqual(older.rest(), b"")
                self.await_here(newer)
                other.say(TEXT, "one", b"which")
                self.assertEqual(newer.receive(), forwarded("two", TEXT, b"which"))

    def test_names_that_nobody_can_have(self) -> None:
        for name in ("a/b", "../up", ".", "..", "bell\7", "line\nfeed", "\u202e", "transfer", "n" * 256):
            with self.subTest(name):
                with self.chat(name) as client:
                    self.assertEqual(client.receive().source, "transfer")
                    self.assertEqual(client.rest(), b"")
                self.assert_served()

    def test_names_are_bytes(self) -> None:
        """The names are a letter with an accent, and the same letter followed by a combining accent."""
        with self.chat("\u00e9") as composed, self.chat("e\u0301") as parts:
            self.await_here(composed)
            self.await_here(parts)
            composed.say(TEXT, "e\u0301", b"x")
            self.assertEqual(parts.receive(), forwarded("\u00e9", TEXT, b"x"))

    def test_another_name_in_the_middle(self) -> None:
        with self.chat("me") as client:
            self.await_here(client)
            client.name = "somebody"
            client.say(TEXT, "me", b"x")
            self.assertEqual(client.receive().source, "transfer")
            self.assertEqual(client.rest(), b"")
        self.assert_served()


class BadChatTests(ChatCase):
    options = ("--max-upload", "1M")

    def test_faults(self) -> None:
        heads = (
            b'{"type":"img","CinentID":"bad","targetID":"bad","size":"0"}',
            b'{"type":"img","CinentID":"bad","targetID":"bad","size":"-5"}',
            b'{"type":"img","CinentID":"bad","targetID":"bad","size":"99999999999999999999"}',
            b'{"type":"img","CinentID":"bad","targetID":"bad","size":"many"}',
            b'{"type":"gif","CinentID":"bad","targetID":"bad","size":"1"}',
            b'{"type":"txt","CinentID":["bad"],"targetID":"bad","size":"1"}',
            b'{"type":"txt","size":"1","x":' + 1000 * b"[" + 1000 * b"]" + b"}",
            b"[]",
            b"{",
            b"\xff\xfe",
            b"{" + 70_000 * b" ",
            *samples.GREETINGS,
        )
        for head in heads:
            with self.subTest(head[:70]):
                with self.chat("bad") as client:
                    client.send_what_is_taken(head + b"\r\n")
                    self.assertEqual(client.receive().source, "transfer")
                    client.rest()
                self.assert_served()

    def test_half_a_message(self) -> None:
        whole = jsonline.encode(TEXT, "half", "whole", b"0123456789")
        with self.chat("whole") as taker:
            self.await_here(taker)
            for count in (1, 20, len(whole) - 10, len(whole) - 1):
                with self.subTest(count):
                    with Connection.to(self.server.port("jsonline")) as client:
                        client.send(whole[:count])
            with self.chat("half") as client:
                client.say(TEXT, "whole", b"whole")
                self.assertEqual(taker.receive(), forwarded("half", TEXT, b"whole"))

    def test_more_than_the_server_takes(self) -> None:
        with self.chat("large") as client:
            self.await_here(client)
            client.say(PICTURE, "large", bytes(1_100_000))
            client.say(TEXT, "large", b"small")
            self.assertEqual([client.receive().source for _ in range(2)], ["transfer", "large"])

    def test_a_flood_of_heartbeats(self) -> None:
        with self.chat("flood") as client:
            client.send(20_000 * jsonline.encode("heartA", "flood", "", b""))
            self.await_here(client)
        self.assert_served()


class SilenceTests(ChatCase):
    options = ("--silence-timeout", "5s")

    def test_who_says_nothing_is_dropped(self) -> None:
        with self.chat("talking") as talking, talking.beating(pace=0.5):
            with Connection.to(self.server.port("jsonline")) as nameless, self.chat("silent") as silent:
                self.assertEqual(silent.rest(), b"")
                self.assertEqual(nameless.rest(), b"")
            self.await_here(talking)

    def test_who_takes_nothing_is_dropped(self) -> None:
        """Heartbeats do not keep a client that reads nothing connected, and other clients are served meanwhile."""
        stream = socket.socket()
        # Set before connecting, because it limits how much the server may send (tcp(7)).
        stream.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        stream.connect(("127.0.0.1", self.server.port("jsonline")))
        self.addCleanup(stream.close)
        stalled = Client(stream, "stalled")
        with self.chat("busy") as busy, busy.beating(pace=0.5), stalled.beating(pace=0.5):
            self.await_here(stalled)
            busy.say(PICTURE, "stalled", Picture.of_about(_LARGE, 1).content)

            def is_dropped() -> bool:
                return any("does not read" in event["message"] for event in self.server.log.events("protocolError"))

            self.server.log.until(is_dropped, "it is not dropped")
            self.await_here(busy)


class LostServerTests(unittest.TestCase):
    """A server that is killed at any moment loses no message in a mailbox."""

    def setUp(self) -> None:
        self.server = Server(("jsonline",))
        self.addCleanup(self.server.abandon)
        self.server.start()

    def client(self, name: str) -> Client:
        client = Client.to(self.server.port("jsonline"))
        client.name = name
        self.addCleanup(client.close)
        client.beat()
        return client

    def stored(self) -> int:
        return len(self.server.log.events("stored"))

    def take(self, client: Client, until: Callable[[], bool]) -> set[bytes]:
        """The messages that arrive before the server is killed."""
        got: set[bytes] = set()
        try:
            while not until():
                got.add(client.receive().body)
        except (Ended, OSError):
            pass
        return got

    def test_each_comes_at_least_once(self) -> None:
        bodies = [Picture.of_about(1_000_000, number).content for number in range(12)]
        with self.client("taker") as taker:
            taker.say(TEXT, "taker", b"here")
            self.assertEqual(taker.receive().body, b"here")
        sender = self.client("sender")
        for body in bodies:
            sender.say(PICTURE, "taker", body)
        self.server.log.until(lambda: self.stored() == len(bodies) + 1, "they are not stored")
        got: set[bytes] = set()
        for count in (1, 3, 6):
            taker = self.client("taker")
            with taker.beating(pace=0.3):
                killing = threading.Timer(0.2 * count, self.server.kill)
                killing.start()
                got |= self.take(taker, lambda: False)
                killing.join()
            taker.close()
            self.server.start()
        taker = self.client("taker")
        wanted = {*bodies}
        while not wanted <= got:
            got.add(taker.receive().body)
        self.assertLessEqual(got - {b"here"}, wanted)
        self.assertEqual(self.server.stop(), 0)
        self.assertEqual(self.server.log.strange(), [])
