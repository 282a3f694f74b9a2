"""Reads and writes the table of docs/proofs.md. The text around the table stays unchanged."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

_COLUMNS = ("proof", "command", "commit", "date", "duration", "figures", "findings")
_HEAD = "| " + " | ".join(_COLUMNS) + " |"
_RULE = "|" + "---|" * len(_COLUMNS)
# Number of commits to a proof's paths after which its row says little about the present state.
OLD = 200

_COMMIT = re.compile(r"[0-9a-f]{7,40}$")


class TableError(Exception):
    """The table has an invalid form."""


@dataclass(frozen=True)
class Row:
    """The last result of one proof. `command` and `commit` are without backquotes."""

    proof: str
    command: str
    commit: str
    date: str
    duration: str
    figures: str
    findings: str

    @property
    def line(self) -> str:
        """The row as a line of the document."""
        cells = (f"`{self.proof}`", f"`{self.command}`", f"`{self.commit}`", self.date, self.duration, self.figures,
                 self.findings)
        return "| " + " | ".join(_escaped(cell) for cell in cells) + " |"


class Table:
    """The rows of one document, by proof."""

    def __init__(self, path: Path, text: str) -> None:
        self._path = path
        self._before, self._after, self.rows = _parse(text, path.name)

    @staticmethod
    def read(path: Path) -> Table:
        """Raises TableError if the document has no such table, or a row that cannot be read."""
        return Table(path, path.read_text(encoding="utf-8"))

    def put(self, row: Row, order: Sequence[str]) -> None:
        """Replaces the row of a proof, and writes the document. Proofs that are not in the order come last."""
        self.rows[row.proof] = row
        ranks = {key: rank for rank, key in enumerate(order)}
        self.rows = dict(sorted(self.rows.items(), key=lambda entry: ranks.get(entry[0], len(ranks))))
        lines = [*self._before, _HEAD, _RULE, *(row.line for row in self.rows.values()), *self._after]
        beside = self._path.with_suffix(".new")
        beside.write_text("\n".join(lines) + "\n", encoding="utf-8")
        beside.replace(self._path)


def _parse(text: str, name: str) -> tuple[list[str], list[str], dict[str, Row]]:
    lines = text.splitlines()
    if lines.count(_HEAD) != 1:
        raise TableError(f"{name} has to have one table with the columns {', '.join(_COLUMNS)}")
    start = lines.index(_HEAD)
    end = start + 1
    while end < len(lines) and lines[end].startswith("|"):
        end += 1
    if lines[start + 1:start + 2] != [_RULE]:
        raise TableError(f"{name}, line {start + 2}: the line below the columns has to be {_RULE}")
    rows: dict[str, Row] = {}
    for number in range(start + 2, end):
        row = _row(lines[number], f"{name}, line {number + 1}")
        if row.proof in rows:
            raise TableError(f"{name}, line {number + 1}: there are two rows of {row.proof}")
        rows[row.proof] = row
    return lines[:start], lines[end:], rows


def _row(line: str, where: str) -> Row:
    cells = [cell.strip().replace("\\|", "|") for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
    if len(cells) != len(_COLUMNS) or not line.endswith("|"):
        raise TableError(f"{where}: a row has {len(_COLUMNS)} cells")
    proof, command, commit = (cell.strip("`") for cell in cells[:3])
    if not proof or not _COMMIT.match(commit):
        raise TableError(f"{where}: a row has a proof and a commit, not {proof!r} and {commit!r}")
    return Row(proof, command, commit, *cells[3:])


def _escaped(cell: str) -> str:
    return " ".join(cell.split()).replace("|", "\\|")


def duration(seconds: float) -> str:
    """A duration for readers, in the two largest units."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"
