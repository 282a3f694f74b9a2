"""What the program at hand can do: the same harness tortures older and newer ones."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Features:
    """What is asked of the program where it knows it."""

    receipts: bool
    # Whether files can be sent to people.
    mail: bool
    # Whether servers speak HTTP.
    web: bool
    # Whether trees can be made the same.
    sync: bool
    # Whether what is replaced goes to the trash of a new directory.
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
    """Verifies the receipts of a push, but for a line that a killed client did not write to its end. `against` is a server
    directory that is to have what they say.

    Returns what is wrong with them.
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
