"""Against the real server: what an operator sees and does while programs of all framings are connected."""

from __future__ import annotations

import json
import os
import signal
import unittest

from dialects import samples
from dialects.case import EVERY
from dialects.server import Server
from dialects.store import Content, Store, now
from dialects.wires import header7, messages, sized, tagged37, text
from dialects.wires.messages import MessageClient


class ServiceTests(unittest.TestCase):
    def setUp(self) -> None:
        self.server = Server(EVERY)
        self.addCleanup(self.server.abandon)
        self.server.start()
        self.store = Store(self.server.directory)

    def begun(self, content: bytes) -> list[MessageClient]:
        """Two clients in the middle of uploads that the server has begun."""
        clients: list[MessageClient] = []
        for number, kind in enumerate((header7.Client, tagged37.Client)):
            client = kind.to(self.server.port(("header7", "tagged37")[number]))
            self.addCleanup(client.close)
            client.say(*list(messages.upload(1, content, name=f"{number}.png"))[:-1])
            clients.append(client)
        self.server.log.until(lambda: len(self.server.log.events("started")) == len(clients), "nothing was started")
        return clients

    def assert_completed(self, client: MessageClient, content: bytes) -> None:
        client.say(messages.end(1, content))
        result = client.result()
        self.assertTrue(result.is_stored and result.path, result)
        self.store.claim(str(result.path), "picture", Content.of(content))

    def test_status(self) -> None:
        clients = self.begun(samples.picture())
        done = self.server.transfer("status", "--json", "--dir", str(self.server.directory))
        status = json.loads(done.stdout)
        uploads = {upload["path"] for upload in status["uploads"]["list"]}
        self.assertEqual(uploads, {"0.png", "1.png"})
        self.assertEqual(status["connections"]["count"], len(clients))

    def test_what_has_begun_may_end_when_the_server_is_told_to_stop(self) -> None:
        content = samples.picture()
        clients = self.begun(content)
        self.server.ask_to_stop()
        self.server.log.until(lambda: bool(self.server.log.events("stopping")), "it does not stop")
        for client in clients:
            self.assert_completed(client, content)
        self.assertEqual(self.server.wait(), 0)
        self.assertEqual(self.server.log.strange(), [])
        self.assertEqual(self.store.strangers(), [])
        self.assertEqual(self.server.unfinished, [])

    def test_nothing_is_left_of_what_does_not_end(self) -> None:
        clients = self.begun(samples.picture())
        self.server.ask_to_stop()
        for client in clients:
            client.close()
        self.assertEqual(self.server.wait(), 0)
        self.assertEqual(self.store.strangers(), [])
        self.assertEqual(self.server.unfinished, [])

    def test_another_worker_serves_the_same_ports(self) -> None:
        clients = self.begun(samples.picture())
        os.kill(self.server.worker, signal.SIGKILL)
        for client in clients:
            self.assertEqual(client.rest(), b"")
        self.server.log.until(lambda: bool(self.server.log.events("restarted")), "no other worker came")
        self._upload_everywhere()
        self.assertEqual(self.server.stop(), 0)
        self.assertEqual(self.store.strangers(), [])
        self.assertEqual(self.server.unfinished, [])

    def _upload_everywhere(self) -> None:
        since, contents = now(), [samples.text() for _ in EVERY]
        with sized.Client.to(self.server.port("sized")) as old:
            old.upload(sized.Type.TEXT, contents[0])
            self.assertEqual(old.answer(), sized.stored(sized.Type.TEXT))
        for content, client in (
            (contents[1], header7.Client.to(self.server.port("header7"))),
            (contents[2], tagged37.Client.to(self.server.port("tagged37"))),
        ):
            with client:
                client.say(messages.text(1, content.decode()))
                self.assertTrue(client.result().is_stored)
        with text.Client.to(self.server.port("text")) as example:
            example.say(contents[3], text.EXIT)
            self.assertEqual(example.rest(), b"")
        self.server.log.until(lambda: len(self.server.log.events("stored")) == len(EVERY), "not all were stored")
        for content in contents:
            self.store.claim_made("text", Content.of(content), since)
