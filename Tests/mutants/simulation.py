"""The second command line: builds the simulator over the mutants, and makes it search for each mutant that breaks a
promise about data and crashes.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from . import copy, listing
from .mutant import Mutant
from .options import PROJECT
from .placing import PlacingError

# The mutants of the list that break a promise about data and crashes.
_HOLES = (
    *(1, 4, 7, 9, 21, 22, 23, 29, 31, 40, 51, 58, 59, 60, 68, 75, 76, 77, 78, 80, 81, 82),
    *(101, 102, 104, 107, 108, 110, 111, 116, 117, 118, 123, 126, 127, 128, 131, 138, 140),
    *(145, 146, 149, 155, 156, 158, 165, 167, 171, 172, 173, 402, 1591, 1592, 1598),
)

# Mutants that a simulated run cannot show, and why. The suites of the affected parts notice them.
_HIDDEN = {
    52: "the row of a file that was healed is about another file, and only costs a question",
    87: "whether the parts begin at 0 and have no gap is asked before their digests are (MultipartUpload.complete)",
    88: "whether the last part ends where the upload does is asked before the digests are (MultipartUpload.complete)",
    90: "what was read of a range that anybody has claimed since is dropped before it can replace anything (mutant 78)",
    106: "content whose sync has failed is thrown away in the same step, and what has no place gets no name",
    157: "the same is asked once more before anything is acknowledged",
    166: "a batch that lets a doubted directory be remembered has synced the name of it",
}

# Mutants that a simulated run shows only rarely: the required coincidence, and the suite that notices the mutant.
_RARE = {
    104: "needs four files that are found and a new directory in one batch, and syncfs to fail just between its syncs; "
    "BatchFailureTests notices it",
    126: "needs another batch's syncfs to fail between two syncs of a batch; CommitterTests notices it",
    1786: "needs a path that becomes free between the decisions of two servers about one upload; ClusterStoreTests notices it",
}

# Seconds in which the simulator must find a mutant.
_LIMIT = 60


@dataclass(frozen=True)
class Look:
    """The result of the search for one mutant."""

    mutant: Mutant
    is_found: bool
    seconds: float
    # The first finding that the simulator printed.
    words: str

    @property
    def excuse(self) -> str:
        """Why the mutant need not be found. Empty if it must be found."""
        return self.mutant.excuse or _RARE.get(self.mutant.number, "")

    @property
    def line(self) -> str:
        """The description of the result in the output."""
        end = f"found after {self.seconds:.1f} s: {self.words}" if self.is_found else f"NOT FOUND in {self.seconds:.0f} s"
        if not self.is_found and self.excuse:
            end += f": {self.excuse}"
        return f"{self.mutant.title}\n       {end}"


def main(arguments: Sequence[str]) -> int:
    """Returns the exit status: 0 if all chosen mutants were found or are explained."""
    options = _parser().parse_args(arguments)
    directory = PROJECT / ".build" / "mutants"
    here = Path(__file__).parent
    try:
        listed = listing.read(here / "list")
        holes = listing.read(here / "holes")
        mutants = [*listed, *holes]
        copy.update(PROJECT, directory / "source", mutants)
    except (listing.ListError, PlacingError, FileNotFoundError) as error:
        print(f"simulate-holes: {error}", file=sys.stderr)
        return 2
    if not options.skip_build and not _build(directory):
        print("simulate-holes: the copy of the sources does not build", file=sys.stderr)
        return 2
    chosen = [mutant for mutant in mutants if mutant in holes or mutant.number in _HOLES]
    if options.holes:
        chosen = [mutant for mutant in mutants if mutant.number in options.holes]
    program = directory / "simulation" / "release" / "transfer-simulate"
    with ThreadPoolExecutor(options.jobs) as pool:
        looks = []
        for look in pool.map(lambda mutant: _look(program, mutant, options.seconds, options.seed), chosen):
            print(look.line, flush=True)
            looks.append(look)
    for number, reason in _HIDDEN.items():
        if not options.holes:
            print(f"[{number}] not looked for: {reason}")
    found = sum(look.is_found for look in looks)
    seconds = sorted(look.seconds for look in looks if look.is_found)
    if seconds:
        print(f"simulate-holes: median {statistics.median(seconds):.1f} s, longest {seconds[-1]:.1f} s")
    excused = sum(not look.is_found and bool(look.excuse) for look in looks)
    print(f"simulate-holes: {found} of {len(looks)} found, {excused} of the others explained")
    return 0 if found + excused == len(looks) else 1


def _build(directory: Path) -> bool:
    swift = subprocess.run([PROJECT / "scripts" / "swift-path.sh"], stdout=subprocess.PIPE, text=True, check=False)
    if swift.returncode != 0:
        return False
    command = [swift.stdout.strip(), "build", "-c", "release", "--product", "transfer-simulate"]
    command += ["--package-path", directory / "source", "--scratch-path", directory / "simulation"]
    return subprocess.run(command, env=dict(os.environ, TRANSFER_SIMULATION="1"), check=False).returncode == 0


def _look(program: Path, mutant: Mutant, limit: int, seed: int) -> Look:
    environment = dict(os.environ, TRANSFER_MUTANT=str(mutant.number), SWIFT_BACKTRACE="enable=no")
    command = [program, "--seconds", str(limit), "--seed", str(seed), "--quick"]
    if "Cluster" in mutant.file:
        command += ["--store", "cluster"]
    started = time.monotonic()
    with tempfile.TemporaryFile() as log:
        try:
            code = subprocess.run(command, env=environment, stdout=log, stderr=log, timeout=limit + 60, check=False).returncode
        except subprocess.TimeoutExpired:
            code = None
        seconds = time.monotonic() - started
        log.seek(0)
        lines = log.read().decode(errors="replace").splitlines()
    if code is None:
        return Look(mutant, True, seconds, "it hangs")
    if code < 0:
        return Look(mutant, True, seconds, f"it crashed by signal {-code}")
    told = next((line.removeprefix("# ") for line in lines if line.startswith("# seed ")), "")
    runs = int(told.split()[1].rstrip(":")) - seed + 1 if told else 0
    return Look(mutant, code != 0, seconds, f"run {runs}: {told}" if told else "")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="simulate-holes", description="Puts holes into a copy of the sources and lets the simulator find them."
    )
    parser.add_argument("holes", nargs="*", type=int, metavar="NUMBER", help="of the lists (default: all holes)")
    parser.add_argument("--seconds", type=int, default=_LIMIT, metavar="S", help=f"for each (default: {_LIMIT})")
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="of the first run (default: 1)")
    parser.add_argument("--jobs", type=int, default=2, metavar="N", help="how many run at once (default: 2)")
    parser.add_argument("--skip-build", action="store_true", help="the copy is built already")
    return parser


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
