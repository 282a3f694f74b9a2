from __future__ import annotations

import unittest

from torture.ledger import Ledger
from torture.scrub import Finding, findings


class FindingTests(unittest.TestCase):
    def setUp(self) -> None:
        self.ledger = Ledger()
        for path in ("acknowledged", "not yet"):
            self.ledger.push(path, "one", replaces=False)
        self.ledger.acknowledge("acknowledged", "one", replaces=False)

    def breaks(self, kind: str, path: str, is_complete: bool = False) -> bool:
        return Finding(kind, path).breaks(self.ledger, is_complete)

    def test_reads_what_was_printed(self) -> None:
        printed = b'{"schema":"transfer.finding/2","finding":"untracked","path":"a\\nb"}\n'
        printed += b'{"schema":"transfer.scrub/2","finding":"summary"}\n'
        self.assertEqual(findings(printed), [Finding("untracked", "a\nb")])
        self.assertEqual(findings(b""), [])

    def test_a_loss_breaks_a_promise(self) -> None:
        for kind in ("rotten", "missing", "unreadable"):
            self.assertTrue(self.breaks(kind, "not yet"), kind)

    def test_the_catalog_knows_what_was_acknowledged(self) -> None:
        self.assertTrue(self.breaks("untracked", "acknowledged"))
        self.assertFalse(self.breaks("untracked", "not yet"))

    def test_a_push_that_replaces_may_have_done_so(self) -> None:
        self.assertTrue(self.breaks("changed", "acknowledged"))
        self.ledger.push("acknowledged", "two", replaces=True)
        self.assertFalse(self.breaks("changed", "acknowledged"))

    def test_nothing_is_strange_when_all_was_acknowledged(self) -> None:
        self.assertTrue(self.breaks("untracked", "not yet", is_complete=True))
        self.assertTrue(self.breaks("changed", "not yet", is_complete=True))


if __name__ == "__main__":
    unittest.main()
