"""The features of the program under test: the same harness tests older and newer programs."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Features:
    """The features that only some programs have."""

    receipts: bool
    # Whether files can be sent to people.
    mail: bool
    # Whether servers speak HTTP.
    web: bool
    # Whether there is `transfer sync`.
    sync: bool
    # Whether replaced files in a new directory go to the trash.
    keeps_replaced: bool

    @staticmethod
    def of(transfer: Path) -> Features:
        said, serving = (
            subprocess.run([transfer, word, "--help"], capture_output=True, text=True, check=True).stdout
            for word in ("push", "serve")
        )
        known = subprocess.run([transfer, "--help"], capture_output=True, text=True, check=True).stdout
        return Features(
            receipts="--receipts" in said, mail="--for " in said, web="--http " in serving, sync="\n  sync " in known,
            keeps_replaced="--trash-for " in serving,
        )


def check_receipts(transfer: Path, receipts: Path, against: Path | None = None) -> str | None:
    """Verifies the receipts of a push, except a last line that a killed client did not complete. `against` is a server
    directory whose files the receipts must match.

    Returns a description of the problem, or None.
    """
    if not receipts.exists():
        return None
    data = receipts.read_bytes()
    receipts.write_bytes(data[: data.rfind(b"\n") + 1])
    if receipts.stat().st_size == 0:
        return None
    command = [transfer, "receipt", "verify", receipts, *(("--against", against) if against else ())]
    found = subprocess.run(command, capture_output=True, text=True, check=False)
    return None if found.returncode == 0 else f"receipts don't verify: {(found.stdout + found.stderr)[-500:]}"
