"""Against the real server: the conversation that `header7` and `tagged37` have in common."""

from __future__ import annotations

import unittest

from dialects import samples
from dialects.case import ServedCase
from dialects.store import now
from dialects.wires import cuts, messages, sized
from dialects.wires.messages import Function, Message, MessageClient

_NAMES = ("photo.png", "no extension", "你好 😀.txt", "a\u0308.txt", "ä.txt", "x" * 255, "-rf", "~", "%2e%2e")
_NO_NAMES = (
    "../up",
    "..",
    ".",
    "a/b",
    "/etc/passwd",
    "a\\b",
    "C:\\x",
    "a\nb",
    "\x7f",
    "\x85",
    "y" * 256,
    ".transfer",
    "",
)


class Conversations:
    """The tests of both framings, and their common steps."""

    class Case(ServedCase):
        def client(self) -> MessageClient:
            raise NotImplementedError

        def assert_result(self, client: MessageClient, id: int, code: int) -> None:
            result = client.result()
            self.assertEqual((result.id, result.code), (id, code), result)

        def test_a_text(self) -> None:
            words = 'naïve 你好 😀 "quoted" \\ { } [ ] \t\n\r\u2028\x7f'
            with self.client() as client:
                client.say(messages.text(1, words))
                self.assert_stored(client.result(), "text", words.encode(), 1)

        def test_each_kind(self) -> None:
            with self.client() as client:
                for id, (kind, content) in enumerate(samples.each_kind(), start=1):
                    client.say(*messages.upload(id, content, kind=kind, piece=100))
                    self.assert_stored(client.result(), kind, content, id)

        def test_the_content_decides_where_no_kind_is_said(self) -> None:
            with self.client() as client:
                content = samples.picture()
                client.say(*messages.upload(1, content))
                self.assert_stored(client.result(), "picture", content, 1)

        def test_names(self) -> None:
            with self.client() as client:
                for id, name in enumerate(_NAMES, start=1):
                    content = samples.text()
                    client.say(*messages.upload(id, content, name=name, kind="text"))
                    result = client.result()
                    self.assertEqual(result.path, name)
                    self.assert_stored(result, "text", content, id)

        def test_a_name_that_is_taken(self) -> None:
            first, second = samples.text(), samples.text()
            with self.client() as client:
                client.say(*messages.upload(1, first, name="taken.txt"), *messages.upload(2, second, name="taken.txt"))
                paths = []
                for id, content in ((1, first), (2, second)):
                    result = client.result()
                    paths.append(result.path)
                    self.assert_stored(result, "text", content, id)
                self.assertEqual(paths[0], "taken.txt")
                self.assertNotEqual(paths[1], "taken.txt")
                client.say(*messages.upload(1, first, name="taken.txt"))
                result = client.result()
                self.assertEqual((result.result, result.path), ("alreadyStored", "taken.txt"))

        def test_without_a_digest(self) -> None:
            content = samples.text()
            with self.client() as client:
                client.say(*messages.upload(1, content, digest=None, kind="file"))
                self.assert_stored(client.result(), "file", content, 1)

        def test_a_broken_digest(self) -> None:
            content = samples.text()
            with self.client() as client:
                client.say(*messages.upload(1, content, digest="ab" * 32, name="broken.txt"))
                self.assert_result(client, 1, 401)
                client.say(*messages.upload(1, content, name="whole.txt"))
                self.assert_stored(client.result(), "text", content, 1)

        def test_without_content(self) -> None:
            with self.client() as client:
                client.say(*messages.upload(1, b"", kind="text"), messages.text(2, ""))
                for id in (1, 2):
                    self.assert_stored(client.result(), "text", b"", id)

        def test_empty_chunks(self) -> None:
            content = samples.text()
            begin, chunk, end = messages.upload(1, content, kind="text")
            with self.client() as client:
                client.say(begin, messages.chunk(1, b""), chunk, messages.chunk(1, b""), end)
                self.assert_stored(client.result(), "text", content, 1)

        def test_glued(self) -> None:
            uploads = samples.each_kind() * 3
            with self.client() as client:
                client.say(*(part for kind, content in uploads for part in messages.upload(9, content, kind=kind)))
                for kind, content in uploads:
                    self.assert_stored(client.result(), kind, content, 9)

        def test_cut_anywhere(self) -> None:
            for number, cut in enumerate([cuts.every(1), cuts.every(7), *map(cuts.anywhere, range(6))]):
                content, words = samples.picture(), samples.text()
                with self.subTest(number), self.client() as client:
                    client.say(*messages.upload(1, content), messages.text(2, words.decode()), cut=cut)
                    self.assert_stored(client.result(), "picture", content, 1)
                    self.assert_stored(client.result(), "text", words, 2)

        def test_several_connections(self) -> None:
            def upload(number: int) -> None:
                with self.client() as client:
                    for id, (kind, content) in enumerate(samples.each_kind(), start=1):
                        client.say(*messages.upload(id, content, kind=kind), cut=cuts.anywhere(number))
                        self.assert_stored(client.result(), kind, content, id)

            self.at_once(8, upload)

        def test_what_is_taken_back(self) -> None:
            words = samples.text()
            begin, chunk, _ = messages.upload(1, samples.text(), name="back.txt")
            with self.client() as client:
                client.say(begin, chunk, Message(Function.ABORT, {"id": 1, "reason": "changed"}))
                self.assert_result(client, 1, 304)
                client.say(messages.text(1, words.decode()))
                self.assert_stored(client.result(), "text", words, 1)

        def test_another_size_than_was_said(self) -> None:
            content = samples.text()
            with self.client() as client:
                for extra in (-1, 1):
                    *front, _ = messages.upload(1, content, name="size.txt")
                    client.say(*front, Message(Function.END, {"id": 1, "size": len(content) + extra}))
                    self.assert_result(client, 1, 400)

        def test_ping(self) -> None:
            with self.client() as client:
                for body in ({"id": 77}, {}, None):
                    client.say(Message(Function.PING, body))
                    self.assertEqual(client.receive(), Message(Function.PONG, body or {}))

        def test_goodbye(self) -> None:
            words = samples.text()
            with self.client() as client:
                client.say(messages.text(1, words.decode()), Message(Function.GOODBYE, {}))
                self.assert_stored(client.result(), "text", words, 1)
                self.assert_only_goodbye(client)

        def assert_only_goodbye(self, client: MessageClient) -> None:
            """The server may also say goodbye, and then closes the connection."""
            try:
                self.assertEqual(client.receive().function, Function.GOODBYE)
            except EOFError:
                return
            self.assertEqual(client.rest(), b"")

        def test_the_end_of_the_stream_is_no_fault(self) -> None:
            words = samples.text()
            with self.client() as client:
                client.say(messages.text(1, words.decode()))
                client.finish()
                self.assert_stored(client.result(), "text", words, 1)
                self.assertEqual(client.rest(), b"")

        def test_names_that_lead_elsewhere(self) -> None:
            words = samples.text()
            with self.client() as client:
                for id, name in enumerate(_NO_NAMES, start=1):
                    with self.subTest(name):
                        client.say(*messages.upload(id, samples.text(), name=name))
                        self.assert_result(client, id, 300)
                client.say(messages.text(1, words.decode()))
                self.assert_stored(client.result(), "text", words, 1)
            self.assert_served()


class FolderTests(ServedCase):
    """Uploads of one listener go to the listener's folder."""

    classic = ("header7,folder=old", "tagged37,folder=deep/er", "sized,folder=old", "text")
    options = ("--classic-folder", "others")

    def test_paths_begin_with_it(self) -> None:
        """The server's paths include the folder. The paths reported to a client are relative to the folder, as for any
        client."""
        for client, folder in ((self.header7(), "old"), (self.tagged37(), "deep/er")):
            content = samples.text()
            with self.subTest(folder), client:
                client.say(*messages.upload(1, content, name="a.txt"))
                self.assert_stored(client.result(), "text", content, 1, folder)

    def test_names_that_are_made(self) -> None:
        since, content = now(), samples.picture()
        with self.sized() as client:
            client.upload(sized.Type.PICTURE, content)
            self.assertEqual(client.answer(), sized.stored(sized.Type.PICTURE))
            self.assert_made("picture", content, since, "old")

    def test_the_folder_of_those_that_name_none(self) -> None:
        since, content = now(), samples.text()
        with self.text() as client:
            client.say(content)
            client.leave()
            self.assertEqual(client.rest(), b"")
        self.await_made("text", content, since, "others")


class Header7Tests(Conversations.Case):
    def client(self) -> MessageClient:
        return self.header7()


class CompressedHeader7Tests(Conversations.Case):
    def client(self) -> MessageClient:
        return self.header7(compressed=True)


class Tagged37Tests(Conversations.Case):
    def client(self) -> MessageClient:
        return self.tagged37()


class ByteCountingTagged37Tests(Conversations.Case):
    def client(self) -> MessageClient:
        return self.tagged37(counts_bytes=True)


if __name__ == "__main__":
    unittest.main()
