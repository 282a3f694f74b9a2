from __future__ import annotations

import json
import unittest

from torture.mailbox import Mailbox, Row, lines, receipt_problems
from torture.program import Broken


def row(state: str, name: str = "a.txt", digest: str = "x:1", delivery: str = "d1", to: str = "bob") -> Row:
    return Row(delivery, to, name, 3, digest, state)


def said(
    path: str, result: str = "committed", delivery: str = "d1", name: str = "a.txt", state: str = "queued"
) -> dict[str, object]:
    return {"delivery": delivery, "name": name, "result": result, "path": path, "digest": "x:1", "state": state}


class MailboxTests(unittest.TestCase):
    def setUp(self) -> None:
        self.box = Mailbox("bob")
        self.box.send("a.txt", "one", 3)

    def assert_problem(self, words: str, rows: list[Row], stored: dict[str, str], is_complete: bool = False) -> None:
        self.assertRegex("; ".join(self.box.problems(rows, stored, is_complete)), words)

    def assert_fine(self, rows: list[Row], stored: dict[str, str], is_complete: bool = False) -> None:
        self.assertEqual(self.box.problems(rows, stored, is_complete), [])

    def test_nothing_is_wrong_with_what_waits_or_has_arrived(self) -> None:
        self.assert_fine([], {})
        self.assert_fine([], {"a.txt": "one"})
        self.box.promise("a.txt", "one", "x:1")
        self.assert_fine([row("queued")], {})
        self.assert_fine([row("fetched")], {"a.txt": "one"})
        self.assert_fine([row("delivered")], {"a.txt": "one"}, is_complete=True)
        self.assert_fine([row("delivered")], {"a-1.txt": "one"}, is_complete=True)

    def test_a_false_delivery_is_found(self) -> None:
        self.assert_problem("said to be delivered to bob, who does not have it", [row("delivered")], {})
        self.box.promise("a.txt", "one", "x:1")
        self.box.send("a.txt", "two", 3)
        self.assert_problem("who does not have it", [row("delivered")], {"a.txt": "two"})
        # A delivery with an unknown digest matches any content with its size.
        self.assert_fine([row("queued"), row("delivered", digest="x:2", delivery="d2")], {"a.txt": "two"})

    def test_a_loss_is_found(self) -> None:
        self.box.promise("a.txt", "one", "x:1")
        self.assert_problem("knows nothing of it", [], {"a.txt": "one"})
        self.assert_problem("has not received 'a.txt'", [row("queued")], {}, is_complete=True)

    def test_two_of_one_are_found(self) -> None:
        self.assert_problem("has it twice", [], {"a.txt": "one", "a-1.txt": "one"})
        self.assert_problem("told of twice", [row("queued"), row("fetched")], {})
        self.box.send("a.txt", "two", 3)
        self.assert_fine([], {"a.txt": "one", "a-1.txt": "two"})

    def test_strangers_are_found(self) -> None:
        self.assert_problem("perhaps half-written: 'a.txt'", [], {"a.txt": "on"})
        self.assert_problem("perhaps half-written: 'b.txt'", [], {"b.txt": "one"})

    def test_other_content_under_a_name_is_found(self) -> None:
        self.box.send("b.txt", "two", 3)
        self.box.promise("b.txt", "two", "x:2")
        self.assert_problem("other content than was sent", [row("queued", digest="x:2"), row("queued", "b.txt", "x:2")], {})

    def test_what_others_got_is_not_his(self) -> None:
        self.assert_fine([row("delivered", to="carol")], {})

    def test_who_declined_lacks_nothing(self) -> None:
        self.box.promise("a.txt", "one", "x:1")
        self.box.decline()
        self.assert_fine([row("declined")], {}, is_complete=True)

    def test_who_declined_has_what_came_before(self) -> None:
        self.box.promise("a.txt", "one", "x:1")
        self.box.receive(said("a.txt"), {"a.txt": "one"})
        self.box.decline()
        self.assert_problem("has not received", [row("delivered")], {}, is_complete=True)

    def test_lines_of_the_recipient(self) -> None:
        self.assertTrue(self.box.receive(said("a.txt"), {"a.txt": "one"}))
        self.assertTrue(self.box.receive(said("a.txt", "alreadyStored"), {"a.txt": "one"}))
        self.assertFalse(self.box.receive(said("a.txt", "storageFailed", "d2"), {}))
        for wrong, stored in [(said("b.txt"), {"a.txt": "one"}), (said("a.txt"), {"a.txt": "on"})]:
            with self.assertRaises(Broken):
                self.box.receive(wrong, stored)
        with self.assertRaises(Broken):
            self.box.receive(said("a-1.txt"), {"a-1.txt": "one"})

    def test_what_the_server_has_taken_stays_delivered(self) -> None:
        self.box.receive(said("a.txt", state="delivered"), {"a.txt": "one"})
        self.assert_problem("says that it is fetched", [row("fetched")], {"a.txt": "one"})
        self.assert_fine([row("delivered")], {"a.txt": "one"})

    def test_digests_of_different_contents_are_found(self) -> None:
        self.box.promise("a.txt", "one", "x:1")
        with self.assertRaises(Broken):
            self.box.promise("a.txt", "two", "x:1")


class ReceiptTests(unittest.TestCase):
    def kept(self, *receipts: tuple[str, str]) -> bytes:
        return b"".join(json.dumps({"receipt": {"delivery": id, "to": to}}).encode() + b"\n" for id, to in receipts)

    def test_each_delivery_has_one(self) -> None:
        rows = [row("delivered"), row("delivered", to="carol"), row("queued", delivery="d2")]
        self.assertEqual(receipt_problems(rows, self.kept(("d1", "bob"), ("d1", "carol"))), [])
        self.assertEqual(receipt_problems(rows, self.kept(("d1", "bob"))), ["no receipt of d1 from carol"])
        found = receipt_problems(rows, self.kept(("d1", "bob"), ("d1", "carol"), ("d1", "carol")))
        self.assertEqual(found, ["2 receipts of d1 from carol"])
        found = receipt_problems(rows, self.kept(("d1", "bob"), ("d1", "carol"), ("d2", "bob")))
        self.assertEqual(found, ["a receipt of d2 from bob, not delivered"])

    def test_a_line_without_an_end_says_nothing(self) -> None:
        self.assertEqual(lines(b'{"a": 1}\n{"b"'), [{"a": 1}])


if __name__ == "__main__":
    unittest.main()
