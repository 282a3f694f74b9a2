"""Against the real server: the values of `--classic`, and no classic framing without the flag."""

from __future__ import annotations

import unittest

from dialects.case import ServedCase
from dialects.log import Silent
from dialects.server import Server
from dialects.store import now
from dialects.wires import messages, sized


class OptionTests(unittest.TestCase):
    def server(self, *classic: str, options: tuple[str, ...] = ()) -> Server:
        server = Server(classic, options)
        self.addCleanup(server.abandon)
        return server

    def test_nothing_unless_asked_for(self) -> None:
        server = self.server()
        server.start()
        self.assertEqual(server.log.events("listeningClassic"), [])
        self.assertEqual(server.stop(), 0)

    def test_one_framing_at_several_addresses(self) -> None:
        server = self.server("text", options=("--classic", "text=[::1]:0"))
        server.start()
        self.assertEqual(len({event["address"] for event in server.log.events("listeningClassic")}), 2)
        self.assertEqual(server.stop(), 0)

    def test_what_is_refused_at_the_start(self) -> None:
        cases = (
            ("--classic", "sized=0.0.0.0:0"),
            ("--classic", "sized"),
            ("--classic", "sized="),
            ("--classic", "=127.0.0.1:0"),
            ("--classic", "morse=127.0.0.1:0"),
            ("--classic", "sized=127.0.0.1:0,total=half"),
            ("--classic", "text=127.0.0.1:0,total=content"),
            ("--classic", "sized=127.0.0.1:0,colour=red"),
            ("--classic", "sized=127.0.0.1:0,folder=../up"),
            ("--classic", "sized=127.0.0.1:0,folder=.transfer"),
            ("--classic", "sized=127.0.0.1:0,people=bob"),
            ("--classic", "jsonline=127.0.0.1:0,people=bob++carol"),
            ("--classic", "jsonline=127.0.0.1:0,people=bob,people=carol"),
            ("--classic", "jsonline=127.0.0.1:0,answer=no"),
            ("--classic", "sized=127.0.0.1:0", "--classic", "sized=127.0.0.1:0"),
        )
        for options in cases:
            with self.subTest(options):
                server = self.server(options=options)
                with self.assertRaises(Silent):
                    server.start()
                self.assertEqual(server.wait(), 2, server.log.tail())
                server.abandon()


class ListenerTests(ServedCase):
    """Each listener has its own limits."""

    classic = ("sized,max-upload=1000,folder=small", "header7,quota=15000,folder=little", "tagged37", "text")

    def test_the_largest_upload(self) -> None:
        since, content = now(), b"y" * 1_000
        with self.sized() as client:
            client.upload(sized.Type.TEXT, content + b"y")
            self.assertEqual(client.answer(), sized.failed(sized.Type.TEXT))
            client.upload(sized.Type.TEXT, content)
            self.assertEqual(client.answer(), sized.stored(sized.Type.TEXT))
            self.assert_made("text", content, since, "small")

    def test_the_quota(self) -> None:
        content = b"z" * 6_000
        with self.header7() as client:
            client.say(*messages.upload(1, content, name="first"), *messages.upload(2, content + b"z", name="second"))
            self.assert_stored(client.result(), "text", content, 1, "little")
            result = client.result()
            self.assertEqual((result.id, result.result), (2, "quotaExceeded"))
        with self.tagged37() as other:
            other.say(*messages.upload(3, content, name="third"))
            self.assert_stored(other.result(), "text", content, 3)
