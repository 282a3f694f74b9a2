from __future__ import annotations

import socket
import threading
import unittest

from dialects import samples
from dialects.wires import cuts, jsonline
from dialects.wires.connection import Ended


class JSONLineTests(unittest.TestCase):
    def setUp(self) -> None:
        ours, self.peer = socket.socketpair()
        self.peer.settimeout(180)
        self.client = jsonline.Client(ours, "alice")
        self.addCleanup(self.client.close)
        self.addCleanup(self.peer.close)

        self._heard = bytearray()
        # A thread reads what the client sends, because a socket holds less than a large message.
        self._hearing = threading.Thread(target=self._hear, daemon=True)

    def _hear(self) -> None:
        while data := self.peer.recv(1 << 16):
            self._heard += data

    def _sent(self) -> bytes:
        """Closes the client, and returns all bytes that it has sent."""
        self.client.close()
        if not self._hearing.is_alive():
            self._hear()
        else:
            self._hearing.join()
        return bytes(self._heard)

    def test_text(self) -> None:
        self.client.say(jsonline.TEXT, "bob", b"hi", cuts.every(3))
        head = b'{\n  "type" : "txt",\n  "CinentID" : "alice",\n  "targetID" : "bob",\n  "size" : "2"\n}'
        self.assertEqual(self._sent(), head + b"\r\nhi")

    def test_picture(self) -> None:
        picture = samples.picture()
        self.client.say(jsonline.PICTURE, "bob", picture, cuts.anywhere(1))
        sent = self._sent()
        self.assertIn(b'"size" : "%d"\n}\r\n\x89PNG' % len(picture), sent)
        self.assertTrue(sent.endswith(picture))

    def test_heartbeats_alternate(self) -> None:
        self.client.beat()
        self.client.beat()
        sent = self._sent()
        self.assertRegex(
            sent, rb'^\{\n  "type" : "heartA",\n  "CinentID" : "alice",\n  "targetID" : "",\n  "size" : "0"\n\}\r\n'
        )
        self.assertRegex(sent, rb'(?s)\r\n\{\n  "type" : "heartB".*\}\r\n$')

    def test_heartbeats_come_between_messages(self) -> None:
        body = b"x" * 500
        self._hearing.start()
        with self.client.beating(pace=0.001):
            for _ in range(20):
                self.client.say(jsonline.TEXT, "bob", body, cuts.every(100))
        sent = self._sent()
        self.assertEqual(sent.count(b"\r\n" + body), 20)
        self.assertIn(b"heartA", sent)

    def test_receives(self) -> None:
        line = b'{"type":"txt","sourceClient":"bob","size":"4"}\r\n\r\n{}'
        self.peer.sendall(line + b'{"type":"img","sourceClient":"carol","size":"1"}\r\nxx')
        self.assertEqual(self.client.receive(), jsonline.Forwarded("txt", "bob", b"\r\n{}"))
        self.assertEqual(self.client.receive(), jsonline.Forwarded("img", "carol", b"x"))
        self.peer.close()
        with self.assertRaises(Ended):
            self.client.receive()

    def test_the_other_spelling(self) -> None:
        self.assertIn(b'"ClientID" : "alice"', jsonline.encode(jsonline.TEXT, "alice", "bob", b"hi", "ClientID"))
