"""Runs `transfer verify` on a server directory, and decides which findings break a promise."""

from __future__ import annotations

import json
import subprocess
from dataclasses import dataclass
from pathlib import Path

from .ledger import Ledger
from .program import Broken


@dataclass(frozen=True)
class Finding:
    """A file that does not match the catalog."""

    kind: str
    path: str

    def breaks(self, ledger: Ledger, is_complete: bool) -> bool:
        """Whether the finding breaks a promise. If `is_complete`, everything that was ever pushed was acknowledged, so
        every finding does."""
        if is_complete:
            return True
        match self.kind:
            case "untracked":
                # A file gets its name before the catalog records it, and is acknowledged after that.
                return self.path in ledger.acknowledged
            case "changed":
                return not ledger.is_replaceable(self.path)
            case _:
                return True


def findings(output: bytes) -> list[Finding]:
    """The findings in output of --json."""
    objects = [json.loads(line) for line in output.splitlines()]
    return [Finding(found["finding"], found["path"]) for found in objects if found["schema"].startswith("transfer.finding/")]


def scrub(transfer: Path, directory: Path, ledger: Ledger, is_complete: bool) -> None:
    """Runs `transfer verify`. Raises Broken if a finding breaks a promise."""
    command = [str(transfer), "verify", "--dir", str(directory), "--json"]
    found = subprocess.run(command, capture_output=True, check=False)
    all_found = findings(found.stdout)
    if broken := [finding for finding in all_found if finding.breaks(ledger, is_complete)]:
        told = "; ".join(f"{finding.kind}: {finding.path!r}" for finding in broken[:5])
        raise Broken(f"transfer verify has {len(broken)} findings: {told}")
    if found.returncode != 0:
        said = (found.stdout + found.stderr).decode(errors="replace")
        raise Broken(f"transfer verify ended with status {found.returncode}: {said[-500:]}")
