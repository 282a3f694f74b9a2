from __future__ import annotations

import tempfile
import unittest
from pathlib import Path

from torture.content import digest
from torture.ledger import Ledger, Stored, acknowledgements


class LedgerTests(unittest.TestCase):
    def setUp(self) -> None:
        self.ledger = Ledger()
        self.ledger.push("a.txt", "one", replaces=False)

    def assert_problem(self, words: str, stored: dict[str, str]) -> None:
        self.assertRegex("; ".join(self.ledger.problems(stored)), words)

    def test_nothing_is_wrong_with_what_was_promised(self) -> None:
        self.ledger.acknowledge("a.txt", "one", replaces=False)
        self.assertEqual(self.ledger.problems({"a.txt": "one"}), [])

    def test_what_was_pushed_and_not_acknowledged_may_be_there(self) -> None:
        self.assertEqual(self.ledger.problems({"a.txt": "one"}), [])
        self.assertEqual(self.ledger.problems({}), [])

    def test_a_loss_is_found(self) -> None:
        self.ledger.acknowledge("a.txt", "one", replaces=False)
        self.assert_problem("not there: 'a.txt'", {})

    def test_other_content_is_found(self) -> None:
        self.ledger.push("a.txt", "two", replaces=False)
        self.ledger.acknowledge("a.txt", "one", replaces=False)
        self.assert_problem("of other content: 'a.txt'", {"a.txt": "two"})

    def test_half_a_file_is_found(self) -> None:
        self.assert_problem("half-written: 'a.txt'", {"a.txt": "half of one"})
        self.assert_problem("half-written: 'b.txt'", {"b.txt": "one"})

    def test_a_second_copy_is_found(self) -> None:
        self.assert_problem("twice: 'a-1.txt' and 'a.txt'", {"a.txt": "one", "a-1.txt": "one"})

    def test_other_content_may_be_beside_it(self) -> None:
        self.ledger.push("a.txt", "two", replaces=False)
        self.ledger.acknowledge("a.txt", "one", replaces=False)
        self.ledger.acknowledge("a-1.txt", "two", replaces=False)
        self.assertEqual(self.ledger.problems({"a.txt": "one", "a-1.txt": "two"}), [])

    def test_beside_a_long_name_is_a_shortened_one(self) -> None:
        long = "x" * 251 + ".txt"
        self.ledger.push(long, "two", replaces=False)
        self.assertEqual(self.ledger.problems({"x" * 249 + "-1.txt": "two"}), [])
        self.assert_problem("half-written", {"x" * 249 + "-1.txt": "three"})

    def test_a_push_that_replaces_may_have_done_so(self) -> None:
        self.ledger.acknowledge("a.txt", "one", replaces=False)
        self.ledger.push("a.txt", "two", replaces=True)
        self.assertEqual(self.ledger.problems({"a.txt": "one"}), [])
        self.assertEqual(self.ledger.problems({"a.txt": "two"}), [])
        self.ledger.acknowledge("a.txt", "two", replaces=True)
        self.assert_problem("of other content: 'a.txt'", {"a.txt": "one"})


class StoredTests(unittest.TestCase):
    def setUp(self) -> None:
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.path = Path(directory.name)

    def test_sees_all_but_the_folder_of_the_server(self) -> None:
        (self.path / ".transfer").mkdir()
        (self.path / ".transfer" / "lock").touch()
        (self.path / "d").mkdir()
        (self.path / "d" / "line\nfeed").write_bytes(b"x")
        self.assertEqual(Stored(self.path).look(), {"d/line\nfeed": digest(b"x")})

    def test_sees_what_changed(self) -> None:
        stored = Stored(self.path)
        (self.path / "a").write_bytes(b"x")
        self.assertEqual(stored.look(), {"a": digest(b"x")})
        (self.path / "a").write_bytes(b"longer")
        self.assertEqual(stored.look(), {"a": digest(b"longer")})
        self.assertEqual(stored.look(afresh=True), {"a": digest(b"longer")})


class AcknowledgementTests(unittest.TestCase):
    def test_half_a_line_is_none(self) -> None:
        line = b'{"source":"a\\n","result":"committed","storedPath":"f/a"}\n'
        found = acknowledgements(line + line[:20])
        self.assertEqual([(answer.source, answer.path) for answer in found], [("a\n", "f/a")])
        self.assertTrue(found[0].is_stored)
        self.assertEqual(acknowledgements(line[:20]), [])

    def test_a_failure_is_no_promise(self) -> None:
        found = acknowledgements(b'{"source":"a","result":"connectionLost"}\n')
        self.assertFalse(found[0].is_stored)
        self.assertIsNone(found[0].path)


if __name__ == "__main__":
    unittest.main()
