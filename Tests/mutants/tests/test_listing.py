from __future__ import annotations

import tempfile
import unittest
from pathlib import Path

from mutants import listing
from mutants.mutant import Kind
from mutants.options import PROJECT

_ENTRY = """# A comment.

[17] Sources/TransferStore/A.swift
promise: a name is synced
    before it is told
after: func publish(
expression: a == b
becomes: true
suite: ^TransferStoreTests\\.ATests
"""


class ListingTests(unittest.TestCase):
    def test_an_entry_is_read(self) -> None:
        (mutant,) = listing.parse(_ENTRY, "a.txt")
        self.assertEqual((mutant.number, mutant.file), (17, "Sources/TransferStore/A.swift"))
        self.assertEqual(mutant.promise, "a name is synced before it is told")
        self.assertEqual((mutant.kind, mutant.original, mutant.replacement), (Kind.EXPRESSION, "a == b", "true"))
        self.assertEqual((mutant.after, mutant.suite), ("func publish(", "^TransferStoreTests\\.ATests"))
        self.assertEqual(mutant.excuse, "")

    def test_a_statement_may_be_left_out(self) -> None:
        text = _ENTRY.replace("expression", "statement").replace("becomes: true\n", "")
        self.assertEqual(listing.parse(text, "a.txt")[0].replacement, "")

    def test_what_is_wrong_is_said(self) -> None:
        for text, reason in [
            (_ENTRY.replace("[17] ", ""), "begins with"),
            (_ENTRY.replace("becomes: true\n", ""), "becomes missing"),
            (_ENTRY.replace("suite:", "suit:"), "suit"),
            (_ENTRY + "promise: another\n", "twice"),
            (_ENTRY + "statement: c()\n", "one of"),
            (_ENTRY.replace("a == b", "f(a, b), c"), "no comma"),
            (_ENTRY.replace("a == b", "a == b }"), "closes those"),
            (_ENTRY.replace("expression: a == b", "statement: guard let a else { return }"), "declares nothing"),
        ]:
            with self.subTest(reason), self.assertRaisesRegex(listing.ListError, reason):
                listing.parse(text, "a.txt")

    def test_a_number_is_given_once(self) -> None:
        with tempfile.TemporaryDirectory() as directory:
            for name in ("a.txt", "b.txt"):
                (Path(directory) / name).write_text(_ENTRY)
            with self.assertRaisesRegex(listing.ListError, "two mutants 17"):
                listing.read(Path(directory))

    def test_the_list_can_be_read(self) -> None:
        self.assertTrue(listing.read(PROJECT / "Tests" / "mutants" / "list"))
