"""The base class for tests of all framings: a server for each class, and a check of all its files at the end."""

from __future__ import annotations

import itertools
import os
import threading
import unittest
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import ClassVar

from . import samples
from .examination import Examination
from .server import Server
from .store import Content, Missing, Store, now
from .wires import header7, jsonline, messages, sized, tagged37, text

# Numbers for the names of clients. Each is used once, so that the server does not know the name yet.
_numbers = itertools.count(1)

EVERY = ("sized", "header7", "tagged37", "text")


class ServedCase(unittest.TestCase):
    """Tests against one server, which must be healthy after all of them."""

    # Framings with their options.
    classic: ClassVar[Sequence[str]] = EVERY
    # Further arguments of the server.
    options: ClassVar[Sequence[str]] = ()
    server: ClassVar[Server]
    store: ClassVar[Store]

    @classmethod
    def setUpClass(cls) -> None:
        cls.server = Server(cls.classic, cls.options)
        cls.addClassCleanup(cls.server.abandon)
        cls.server.start()
        cls.store = Store(cls.server.directory)

    @classmethod
    def tearDownClass(cls) -> None:
        Examination(cls(), cls.server, cls.store).run()

    def sized(self) -> sized.Client:
        client = sized.Client.to(self.server.port("sized"))
        self.addCleanup(client.close)
        return client

    def header7(self, compressed: bool = False) -> header7.Client:
        client = header7.Client.to(self.server.port("header7"))
        client.compressed = compressed
        self.addCleanup(client.close)
        return client

    def tagged37(self, counts_bytes: bool = False) -> tagged37.Client:
        client = tagged37.Client.to(self.server.port("tagged37"))
        client.counts_bytes = counts_bytes
        self.addCleanup(client.close)
        return client

    def text(self) -> text.Client:
        client = text.Client.to(self.server.port("text"))
        self.addCleanup(client.close)
        return client

    def chat(self, name: str) -> jsonline.Client:
        """A client that has sent its name in a heartbeat, and sends no further heartbeats by itself."""
        client = jsonline.Client.to(self.server.port("jsonline"))
        client.name = name
        self.addCleanup(client.close)
        client.beat()
        return client

    def assert_made(self, kind: str, content: bytes, since: datetime, folder: str = "") -> None:
        """Fails unless the upload is stored now, under a name that the server made."""
        self.store.claim_made(kind, Content.of(content), since, folder)

    def await_made(self, kind: str, content: bytes, since: datetime, folder: str = "") -> None:
        """Waits until the upload is stored, for a framing without answers."""

        def is_there() -> bool:
            try:
                self.assert_made(kind, content, since, folder)
            except Missing:
                return False
            return True

        self.server.log.until(is_there, f"no upload of {kind} with {content[:40]!r} was stored")

    def assert_stored(self, result: messages.Result, kind: str, content: bytes, id: int, folder: str = "") -> None:
        """Fails unless the result reports the upload as stored and the file is in place now."""
        self.assertTrue(result.is_stored and result.id == id and result.path, result)
        assert result.path is not None
        self.store.claim(os.path.join(folder, result.path), kind, Content.of(content))

    def assert_served(self) -> None:
        """Fails unless the server serves another client on every framing."""
        since = now()
        framings = {choice.partition(",")[0] for choice in self.classic}
        if "sized" in framings:
            self._upload_sized(since)
        for framing in ("header7", "tagged37"):
            if framing in framings:
                self._upload_text(self.header7() if framing == "header7" else self.tagged37())
        if "jsonline" in framings:
            self._forward()
        if "text" in framings:
            content = samples.text()
            with self.text() as client:
                client.say(content)
                client.leave()
                self.assertEqual(client.rest(), b"")
            self.await_made("text", content, since)

    def _upload_sized(self, since: datetime) -> None:
        content = samples.text()
        with self.sized() as client:
            client.upload(sized.Type.TEXT, content)
            self.assertEqual(client.answer(), sized.stored(sized.Type.TEXT))
            self.assert_made("text", content, since)

    def _forward(self) -> None:
        """Forwards a text between two clients that the server did not know before."""
        content = samples.text()
        with self.chat(f"one {next(_numbers)}") as one, self.chat(f"other {next(_numbers)}") as other:
            self.await_here(other)
            one.say(jsonline.TEXT, other.name, content)
            self.assertEqual(other.receive(), jsonline.Forwarded(jsonline.TEXT, one.name, content))

    def await_here(self, client: jsonline.Client) -> None:
        """Waits until the server knows the client's name: then the client receives what it sends to itself."""
        content = samples.text()
        client.say(jsonline.TEXT, client.name, content)
        self.assertEqual(client.receive(), jsonline.Forwarded(jsonline.TEXT, client.name, content))

    def _upload_text(self, client: messages.MessageClient) -> None:
        content = samples.text()
        with client:
            client.say(messages.text(1, content.decode()))
            self.assert_stored(client.result(), "text", content, 1)

    def at_once(self, count: int, work: Callable[[int], None]) -> None:
        """Runs `work` in that many threads, and fails with the first failure of a thread."""
        failures: list[BaseException] = []

        def run(number: int) -> None:
            try:
                work(number)
            except BaseException as failure:
                failures.append(failure)

        threads = [threading.Thread(target=run, args=(number,)) for number in range(count)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if failures:
            raise failures[0]
