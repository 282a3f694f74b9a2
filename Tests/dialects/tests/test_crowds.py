"""Against the real server: clients that leave, that stay silent, or that are too many, and their effect on other
clients.
"""

from __future__ import annotations

import contextlib
import json
import select
import struct
import time
from collections.abc import Callable, Iterator

from dialects import samples
from dialects.case import EVERY, ServedCase
from dialects.store import now
from dialects.wires import cuts, header7, messages, sized, tagged37, text
from dialects.wires.connection import PATIENCE, Connection
from dialects.wires.sized import Type

_CROWD = 100


def _halves() -> dict[str, list[bytes]]:
    """Beginnings of an upload in each framing: within the header, after it, and within the content."""
    content = samples.picture(200, 200)
    whole = sized.upload(Type.PICTURE, content)
    parts = list(messages.upload(1, content, name="half.png"))[:-1]
    seven = b"".join(map(header7.encode, parts))
    tagged = b"".join(map(tagged37.encode, parts))
    return {
        "sized": [whole[:1], whole[:8], whole[: len(whole) // 2], whole[:-1]],
        "header7": [seven[:3], seven[:7], seven[: len(seven) // 2], seven],
        "tagged37": [tagged[:3], tagged[:37], tagged[: len(tagged) // 2], tagged, tagged37.HEARTBEAT],
        "text": [b"h", b"half\0", text.buffer(b"half")[:-1]],
    }


def _says_stored(framing: str, answer: bytes) -> bool:
    return answer[8:9] == b"\1" if framing == "sized" else b"committed" in answer


class LostClientTests(ServedCase):
    """Half an upload is not stored. The check of all files at the end shows that nothing is left."""

    def test_who_closes_in_the_middle(self) -> None:
        for framing, streams in _halves().items():
            for stream in streams:
                with self.subTest(framing=framing, count=len(stream)):
                    with Connection.to(self.server.port(framing)) as client:
                        client.send(stream)
                    self.assert_served()

    def test_who_is_killed_in_the_middle(self) -> None:
        for framing, streams in _halves().items():
            for stream in streams:
                with self.subTest(framing=framing, count=len(stream)):
                    client = Connection.to(self.server.port(framing))
                    client.send(stream)
                    client.reset()
                    self.assert_served()

    def test_who_sends_no_more(self) -> None:
        for framing, streams in _halves().items():
            for stream in streams:
                with self.subTest(framing=framing, count=len(stream)):
                    with Connection.to(self.server.port(framing)) as client:
                        client.send(stream)
                        client.finish()
                        self.assertFalse(_says_stored(framing, client.rest()))
                    self.assert_served()

    def test_who_never_says_anything(self) -> None:
        for framing in EVERY:
            with self.subTest(framing), Connection.to(self.server.port(framing)) as client:
                client.finish()
                self.assertEqual(client.rest(), b"")


class SilenceCase(ServedCase):
    def assert_dropped(self, streams: dict[str, list[bytes]]) -> None:
        """Sends only these beginnings, and checks that the server closes each connection with the framing's answer
        while it serves other clients."""
        for framing, fronts in streams.items():
            with self.subTest(framing), contextlib.ExitStack() as stack:
                clients = [stack.enter_context(Connection.to(self.server.port(framing))) for _ in fronts]
                for client, front in zip(clients, fronts, strict=True):
                    client.send(front)
                self.assert_served()
                for client in clients:
                    self.assert_told(framing, client.rest())
        self.assert_served()

    def assert_told(self, framing: str, answer: bytes) -> None:
        raise NotImplementedError


class SilentClientTests(SilenceCase):
    """A client that is silent inside an upload loses its connection."""

    options = ("--silence-timeout", "3s")

    def assert_told(self, framing: str, answer: bytes) -> None:
        if framing == "sized":
            self.assertEqual(answer, struct.pack("<iii", 12, Type.PICTURE, 0))
        else:
            self.assertIn(b"timedOut", answer)

    def test_silence(self) -> None:
        halves = _halves()
        self.assert_dropped(
            {"sized": halves["sized"][1:], "header7": halves["header7"][2:], "tagged37": halves["tagged37"][2:4]}
        )

    def test_beside_a_heart_that_beats(self) -> None:
        """Between uploads, heartbeats of 15 bytes keep a connection open for longer than a client may be silent inside
        an upload."""
        content = samples.text()
        end = time.monotonic() + 4
        with self.tagged37() as client:
            while time.monotonic() < end:
                client.beat()
                self.assertFalse(self._hears_something(client, within=0.1), "the server has closed")
            client.say(messages.text(1, content.decode()))
            self.assert_stored(client.result(), "text", content, 1)

    @staticmethod
    def _hears_something(client: Connection, within: float) -> bool:
        return bool(select.select([client], [], [], within)[0])


class IdleClientTests(SilenceCase):
    """Between uploads a connection may be idle for a limited time."""

    options = ("--idle-timeout", "3s")

    def assert_told(self, framing: str, answer: bytes) -> None:
        self.assertFalse(_says_stored(framing, answer), answer)

    def test_idle(self) -> None:
        halves = _halves()
        self.assert_dropped(
            {
                "sized": [b"", *halves["sized"][:1]],
                "header7": [b"", *halves["header7"][:2]],
                "tagged37": [b"", *halves["tagged37"][:2], tagged37.HEARTBEAT],
                "text": [b"", *halves["text"]],
            }
        )

    def test_behind_an_upload(self) -> None:
        with self.sized() as client:
            since, content = now(), samples.text()
            client.upload(Type.TEXT, content)
            self.assertEqual(client.answer(), sized.stored(Type.TEXT))
            self.assert_made("text", content, since)
            self.assertFalse(_says_stored("sized", client.rest()))


class CrowdTests(ServedCase):
    """Many more clients than the server serves at a time."""

    options = ("--max-connections", "32", "--log-level", "debug")

    def test_those_who_begin_nothing_give_way(self) -> None:
        for framing, streams in _halves().items():
            for stream in (b"", streams[0]):
                before = self._let_in()
                with self.subTest(framing=framing, count=len(stream)), self.crowd(framing, stream):
                    self._await_crowd(before)
                    self.assert_served()

    def test_nothing_is_left_of_those_who_began(self) -> None:
        for framing, streams in _halves().items():
            before = self._let_in()
            with self.subTest(framing):
                with self.crowd(framing, streams[-1]):
                    pass
                # Until the server notices that the clients have left, these uploads fill it.
                self._await_crowd(before)
                self._await_nobody()
                self.assert_served()

    def test_those_who_have_begun_stay(self) -> None:
        content, before = samples.picture(), len(self.server.log.events("started"))
        clients = [self.header7() for _ in range(8)]
        for number, client in enumerate(clients):
            client.say(*list(messages.upload(1, content, name=f"{number}.png"))[:-1])
        self.server.log.until(lambda: len(self.server.log.events("started")) >= before + 8, "nothing was started")
        let_in = self._let_in()
        with self.crowd("sized", b""):
            self._await_crowd(let_in)
            for client in clients:
                client.say(messages.end(1, content))
                self.assert_stored(client.result(), "picture", content, 1)

    @contextlib.contextmanager
    def crowd(self, framing: str, stream: bytes) -> Iterator[None]:
        """Connections that stay until the end of the block, unless the server refuses or closes them."""
        with contextlib.ExitStack() as stack:
            for _ in range(_CROWD):
                client = stack.enter_context(Connection.to(self.server.port(framing)))
                client.send_what_is_taken(stream)
            yield

    def _await_crowd(self, before: int) -> None:
        """Waits until the whole crowd has been accepted, which forces the server to drop some connections."""
        self.server.log.until(lambda: self._let_in() >= before + _CROWD, "not all were let in")

    def _await_nobody(self) -> None:
        """Waits until the server has no connections."""
        deadline, count = time.monotonic() + PATIENCE, None
        while count != 0 and time.monotonic() < deadline:
            done = self.server.transfer("status", "--json", "--dir", str(self.server.directory))
            count = json.loads(done.stdout)["connections"]["count"]
        self.assertEqual(count, 0)

    def _let_in(self) -> int:
        return len(self.server.log.events("connected"))


class TogetherTests(ServedCase):
    """All framings at once, each with several clients."""

    def test_everybody_at_once(self) -> None:
        clients: list[Callable[[int], None]] = [self._sized, self._header7, self._tagged37, self._text]
        self.at_once(16, lambda number: clients[number % 4](number))

    def _sized(self, seed: int) -> None:
        since = now()
        with self.sized() as client:
            for kind, content in samples.each_kind():
                type = Type[kind.upper()]
                client.upload(type, content, cuts.anywhere(seed))
                self.assertEqual(client.answer(), sized.stored(type))
                self.assert_made(kind, content, since)

    def _header7(self, seed: int) -> None:
        self._upload(self.header7(compressed=bool(seed & 4)), seed)

    def _tagged37(self, seed: int) -> None:
        self._upload(self.tagged37(counts_bytes=bool(seed & 4)), seed)

    def _upload(self, client: messages.MessageClient, seed: int) -> None:
        with client:
            for id, (kind, content) in enumerate(samples.each_kind(), start=1):
                client.say(*messages.upload(id, content, kind=kind), cut=cuts.anywhere(seed))
                self.assert_stored(client.result(), kind, content, id)

    def _text(self, seed: int) -> None:
        since, texts = now(), [samples.text() for _ in range(4)]
        with self.text() as client:
            client.say(*texts, text.EXIT, cut=cuts.anywhere(seed))
            self.assertEqual(client.rest(), b"")
        for content in texts:
            self.await_made("text", content, since)
