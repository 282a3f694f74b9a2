from __future__ import annotations

import tempfile
import unittest
from datetime import timedelta
from pathlib import Path

from dialects.store import Content, Store, now

_CONTENT = Content.of(b"hello")


class StoreTests(unittest.TestCase):
    def setUp(self) -> None:
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.store = Store(Path(directory.name))
        self.since = now()

    def _write(self, path: str, data: bytes = b"hello") -> str:
        (self.store.directory / path).parent.mkdir(parents=True, exist_ok=True)
        (self.store.directory / path).write_bytes(data)
        return path

    def _made(self, mark: str, kind: str = "text", age: int = 0) -> str:
        moment = self.since - timedelta(seconds=age)
        return self._write(f"{kind}-{moment:%Y%m%d-%H%M%S}-{mark}.txt")

    def test_each_upload_has_a_file_of_its_own(self) -> None:
        made = {self._made("0001"), self._made("0002")}
        self.assertEqual({self.store.claim_made("text", _CONTENT, self.since) for _ in range(2)}, made)
        with self.assertRaisesRegex(AssertionError, "not there"):
            self.store.claim_made("text", _CONTENT, self.since)

    def test_a_name_has_to_say_kind_and_time(self) -> None:
        for path in (self._made("0001", kind="picture"), self._made("0001", age=5), self._write("hello.txt")):
            with self.assertRaises(AssertionError):
                self.store.claim_made("text", _CONTENT, self.since)
            (self.store.directory / path).unlink()

    def test_a_path_that_was_told(self) -> None:
        self._write("old/a")
        self.store.claim("old/a", "file", _CONTENT)
        self.store.claim("old/a", "file", _CONTENT)
        for kind, content in (("text", _CONTENT), ("file", Content.of(b"other"))):
            with self.assertRaises(AssertionError):
                self.store.claim("old/a", kind, content)
        with self.assertRaises(AssertionError):
            self.store.claim("old/b", "file", _CONTENT)

    def test_strangers(self) -> None:
        self._write(".transfer/incoming/x")
        self._write("deep/.transfer/y")
        self._write("a")
        self.store.claim("a", "file", _CONTENT)
        self.assertEqual(self.store.strangers(), ["deep/.transfer/y"])
