"""Reports which rows of the table are old."""

from __future__ import annotations

from collections.abc import Sequence

from .history import History
from .proof import Proof
from .table import OLD, Table


def lines(proofs: Sequence[Proof], table: Table, history: History) -> list[str]:
    """A line for each fact that a maintainer should know; empty if all rows are recent."""
    found = []
    missing = [proof.key for proof in proofs if proof.key not in table.rows]
    if missing:
        found.append(f"docs/proofs.md has no row of {', '.join(missing)}")
    unknown = []
    for proof in proofs:
        row = table.rows.get(proof.key)
        if row is None:
            continue
        age = history.age(row.commit, proof.covers)
        if age is None:
            unknown.append(f"{proof.key} ({row.commit})")
        elif age > OLD:
            found.append(f"{proof.key}: {age} commits have touched what it covers since {row.commit}; make proofs ONLY={proof.key}")
        if row.findings != "none":
            found.append(f"{proof.key}: its row has findings: {row.findings}")
    if unknown:
        found.append(f"the history here does not have the commits of {', '.join(unknown)}, so their age is unknown")
    return found
