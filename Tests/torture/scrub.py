"""What `transfer verify` says of a server directory, and whether that breaks a promise."""

from __future__ import annotations

import json
import subprocess
from dataclasses import dataclass
from pathlib import Path

from .ledger import Ledger
from .program import Broken


@dataclass(frozen=True)
class Finding:
    """A file that is not as the catalog says."""

    kind: str
    path: str

    def breaks(self, ledger: Ledger, is_complete: bool) -> bool:
        """Whether that may not be. Nothing may when `is_complete`: when all that was ever pushed was acknowledged."""
        if is_complete:
            return True
        match self.kind:
            case "stranger":
                # It has its name before the catalog has it, and is acknowledged behind that.
                return self.path in ledger.acknowledged
            case "changed":
                return not ledger.is_replaceable(self.path)
            case _:
                return True


def findings(output: bytes) -> list[Finding]:
    """Of what was printed with --json."""
    objects = [json.loads(line) for line in output.splitlines()]
    return [Finding(found["finding"], found["path"]) for found in objects if found["schema"].startswith("transfer.finding/")]


def scrub(transfer: Path, directory: Path, ledger: Ledger, is_complete: bool) -> None:
    """Runs it. Raises Broken for what may not be."""
    command = [str(transfer), "verify", "--dir", str(directory), "--json"]
    found = subprocess.run(command, capture_output=True, check=False)
    all_found = findings(found.stdout)
    if broken := [finding for finding in all_found if finding.breaks(ledger, is_complete)]:
        told = "; ".join(f"{finding.kind}: {finding.path!r}" for finding in broken[:5])
        raise Broken(f"transfer verify has {len(broken)} findings: {told}")
    if found.returncode != 0:
        said = (found.stdout + found.stderr).decode(errors="replace")
        raise Broken(f"transfer verify ended with status {found.returncode}: {said[-500:]}")
