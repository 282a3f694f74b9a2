from __future__ import annotations

import tempfile
import unittest
import zlib
from pathlib import Path

from bench import corpus


class CorpusTests(unittest.TestCase):
    def setUp(self) -> None:
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.root = Path(directory.name, "source")

    def test_small_files_stand_in_directories(self) -> None:
        made = corpus.small_files(self.root, count=25, size=10, in_directory=10)
        self.assertEqual((made.count, made.size, len(made.entries)), (25, 250, 3))

    def test_photos_as_many_and_as_large_as_asked(self) -> None:
        made = corpus.photos(self.root, count=3, smallest=1000, step=10)
        self.assertEqual([file.stat().st_size for file in made.files], [1000, 1010, 1020])

    def test_equal_files_do_not_compress(self) -> None:
        made = corpus.equal_files(self.root, count=3, size=100_000)
        content = b"".join(file.read_bytes() for file in made.files)
        self.assertEqual((made.count, len(content)), (3, 300_000))
        self.assertGreater(len(zlib.compress(content)), 299_000)

    def test_text_shrinks_as_logs_do(self) -> None:
        made = corpus.log_text(self.root, parts=1)
        content = made.files[0].read_bytes()
        self.assertEqual(content.count(b"\n"), 20_000)
        self.assertTrue(2 < len(content) / len(zlib.compress(content, 1)) < 3)
