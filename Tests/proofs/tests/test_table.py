from __future__ import annotations

import tempfile
import unittest
from pathlib import Path

from proofs.table import Row, Table, TableError, duration

_HEAD = "| proof | command | commit | date | duration | figures | findings |"
_RULE = "|---|---|---|---|---|---|---|"
_ROW = Row("fuzz", "make fuzz | cat", "abcdef1234", "2026-01-02", "3 min 4 s", "7 executions", "none")


class TableTests(unittest.TestCase):
    def setUp(self) -> None:
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.path = Path(directory.name) / "proofs.md"

    def _table(self, *rows: str) -> Table:
        self.path.write_text("\n".join(["# Proofs", "", _HEAD, _RULE, *rows, "", "More.", ""]), encoding="utf-8")
        return Table.read(self.path)

    def test_what_is_written_is_read_again(self) -> None:
        self._table().put(_ROW, ["fuzz"])
        self.assertEqual(Table.read(self.path).rows, {"fuzz": _ROW})

    def test_the_text_around_it_stays(self) -> None:
        self._table(_ROW.line).put(Row("torture", "t", "1234567", "", "", "", "none"), ["torture", "fuzz"])
        lines = self.path.read_text(encoding="utf-8").splitlines()
        self.assertEqual(lines[:4], ["# Proofs", "", _HEAD, _RULE])
        self.assertEqual([line.split("`")[1] for line in lines[4:6]], ["torture", "fuzz"])
        self.assertEqual(lines[6:], ["", "More."])

    def test_a_row_is_replaced(self) -> None:
        table = self._table(_ROW.line)
        newer = Row("fuzz", "make fuzz", "1234567890", "2026-02-03", "1 s", "8 executions", "a crash;\nanother")
        table.put(newer, ["fuzz"])
        rows = Table.read(self.path).rows
        self.assertEqual(list(rows), ["fuzz"])
        self.assertEqual(rows["fuzz"].findings, "a crash; another")

    def test_a_proof_that_is_no_more_keeps_its_row(self) -> None:
        table = self._table(_ROW.line)
        table.put(Row("torture", "t", "1234567", "", "", "", "none"), ["torture"])
        self.assertEqual(list(Table.read(self.path).rows), ["torture", "fuzz"])

    def test_what_is_no_table(self) -> None:
        line = _ROW.line
        for rows in [[line, line], [line.replace("abcdef1234", "unknown")], [line.replace(" none |", "")],
                     [line.replace("`fuzz`", "``")]]:
            with self.subTest(rows), self.assertRaises(TableError):
                self._table(*rows)
        for text in ["", "# Proofs\n", f"{_HEAD}\n{_HEAD}\n", f"{_HEAD}\n{line}\n", _HEAD]:
            self.path.write_text(text, encoding="utf-8")
            with self.subTest(text), self.assertRaises(TableError):
                Table.read(self.path)

    def test_durations(self) -> None:
        self.assertEqual([duration(seconds) for seconds in (0, 59.4, 60, 3599, 3600, 100_000)],
                         ["0 s", "59 s", "1 min 0 s", "59 min 59 s", "1 h 0 min", "27 h 46 min"])
