"""Against the real server: the program that uploads texts, audio, pictures and locations."""

from __future__ import annotations

from dialects import samples
from dialects.case import ServedCase
from dialects.store import now
from dialects.wires import cuts, sized
from dialects.wires.sized import Type

_TYPES = {type.kind: type for type in Type}


class SizedTests(ServedCase):
    def assert_answered(self, client: sized.Client, kind: str, content: bytes) -> None:
        """When the answer arrives, the upload is already stored."""
        self.assertEqual(client.answer(), sized.stored(_TYPES[kind]))
        self.assert_made(kind, content, self.since)

    def setUp(self) -> None:
        self.since = now()

    def test_each_kind(self) -> None:
        for kind, content in samples.each_kind():
            with self.subTest(kind), self.sized() as client:
                client.upload(_TYPES[kind], content)
                self.assert_answered(client, kind, content)

    def test_the_name_ends_as_the_content_does(self) -> None:
        for kind, content, extension in (("picture", samples.picture(), ".png"), ("text", samples.text(), ".txt")):
            before = set(self.store.visible())
            with self.sized() as client:
                client.upload(_TYPES[kind], content)
                self.assert_answered(client, kind, content)
            [path] = set(self.store.visible()) - before
            self.assertTrue(path.endswith(extension), path)

    def test_one_after_the_other(self) -> None:
        with self.sized() as client:
            for kind, content in samples.each_kind() * 2:
                client.upload(_TYPES[kind], content)
                self.assert_answered(client, kind, content)

    def test_glued(self) -> None:
        uploads = samples.each_kind()
        with self.sized() as client:
            client.send(b"".join(sized.upload(_TYPES[kind], content) for kind, content in uploads))
            for kind, content in uploads:
                self.assert_answered(client, kind, content)

    def test_cut_anywhere(self) -> None:
        for number, cut in enumerate([cuts.every(1), cuts.every(7), *map(cuts.anywhere, range(6))]):
            uploads = samples.each_kind()
            with self.subTest(number), self.sized() as client:
                client.send(b"".join(sized.upload(_TYPES[kind], content) for kind, content in uploads), cut)
                for kind, content in uploads:
                    self.assert_answered(client, kind, content)

    def test_many_before_the_first_answer(self) -> None:
        uploads = samples.each_kind() * 10
        with self.sized() as client:
            for kind, content in uploads:
                client.upload(_TYPES[kind], content)
            client.finish()
            for kind, content in uploads:
                self.assert_answered(client, kind, content)
            self.assertEqual(client.rest(), b"")

    def test_several_connections(self) -> None:
        def upload(number: int) -> None:
            with self.sized() as client:
                for kind, content in samples.each_kind():
                    client.upload(_TYPES[kind], content, cuts.anywhere(number))
                    self.assert_answered(client, kind, content)

        self.at_once(8, upload)

    def test_without_content(self) -> None:
        with self.sized() as client:
            for type in (Type.TEXT, Type.TEXT):
                client.upload(type, b"")
                self.assert_answered(client, type.kind, b"")

    def test_the_same_twice_is_two_files(self) -> None:
        content = samples.picture()
        with self.sized() as client:
            for _ in range(2):
                client.upload(Type.PICTURE, content)
                self.assert_answered(client, "picture", content)

    def test_a_text_that_is_not_utf_8_is_kept_as_a_file(self) -> None:
        content = "naïve café\n".encode("latin-1") + samples.text()
        with self.sized() as client:
            client.upload(Type.TEXT, content)
            self.assertEqual(client.answer(), sized.stored(Type.TEXT))
            self.assert_made("file", content, self.since)

    def test_who_goes_without_the_answer_has_stored_it(self) -> None:
        content = samples.picture()
        with self.sized() as client:
            client.upload(Type.PICTURE, content)
        self.await_made("picture", content, self.since)


class ContentTotalTests(ServedCase):
    """The second program, whose total counts the content alone."""

    classic = ("sized,total=content",)

    def test_each_kind(self) -> None:
        since = now()
        for kind, content in samples.each_kind():
            with self.subTest(kind), self.sized() as client:
                client.send(sized.content_upload(_TYPES[kind], content), cuts.anywhere(1))
                self.assertEqual(client.answer(), sized.stored(_TYPES[kind]))
                self.assert_made(kind, content, since)

    def test_glued_short_ones(self) -> None:
        """Totals below 8, which would be invalid for the first program."""
        since = now()
        with self.sized() as client:
            contents = [b"x" * count for count in range(10)]
            client.send(b"".join(sized.content_upload(Type.TEXT, content) for content in contents))
            for content in contents:
                self.assertEqual(client.answer(), sized.stored(Type.TEXT))
                self.assert_made("text", content, since)

    def test_less_than_nothing(self) -> None:
        for total in (-1, -(1 << 31)):
            with self.subTest(total), self.sized() as client:
                client.send(sized.head(total, Type.TEXT))
                self.assertEqual(client.answer(), sized.failed(Type.TEXT))
                self.assertEqual(client.rest(), b"")


class SilentServerTests(ServedCase):
    """The second program reads no answers, and an option switches them off."""

    classic = ("sized,total=content,answer=no",)

    # The usual check would wait for an answer that never comes.
    def test_nothing_is_answered(self) -> None:
        since, uploads = now(), samples.each_kind()
        with self.sized() as client:
            client.send(b"".join(sized.content_upload(_TYPES[kind], content) for kind, content in uploads))
            client.finish()
            self.assertEqual(client.rest(), b"")
        for kind, content in uploads:
            self.await_made(kind, content, since)

    def test_nor_is_a_fault(self) -> None:
        with self.sized() as client:
            client.send(sized.head(5, 9))
            self.assertEqual(client.rest(), b"")
