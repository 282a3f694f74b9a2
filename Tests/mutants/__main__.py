"""The command line: builds all mutants at once, then runs the suite of each."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from . import copy, listing
from .mutant import Mutant
from .options import PROJECT, Options
from .placing import PlacingError
from .suites import End, Run, Suites
from .tally import Tally

# Number of output lines to show of a suite that fails without a mutant.
_SHOWN = 30


def main(arguments: Sequence[str]) -> int:
    """Returns the exit status: 0 if all chosen mutants were noticed or are explained."""
    options = Options.parse(arguments)
    try:
        mutants = listing.read(Path(__file__).parent / "list")
        copy.update(PROJECT, options.source, mutants)
    except (listing.ListError, PlacingError, FileNotFoundError) as error:
        print(f"mutants: {error}", file=sys.stderr)
        return 2
    chosen = [mutant for mutant in mutants if options.chooses(mutant)]
    if not chosen:
        print("mutants: the list has none of these", file=sys.stderr)
        return 2
    if options.builds and not _build(options):
        print("mutants: the copy of the sources does not build", file=sys.stderr)
        return 2
    return _run(options, chosen)


def _build(options: Options) -> bool:
    swift = subprocess.run([PROJECT / "scripts" / "swift-path.sh"], stdout=subprocess.PIPE, text=True, check=False)
    if swift.returncode != 0:
        return False
    started = time.monotonic()
    command = [swift.stdout.strip(), "build", "--build-tests", "--package-path", options.source]
    built = subprocess.run([*command, "--scratch-path", options.build], check=False).returncode == 0
    if built:
        print(f"mutants: built in {time.monotonic() - started:.0f} s", flush=True)
    return built


def _run(options: Options, mutants: Sequence[Mutant]) -> int:
    program = options.build / "debug" / "transferPackageTests.xctest"
    suites = Suites(program, options.source, options.limit)
    started = time.monotonic()
    with ThreadPoolExecutor(options.jobs) as pool:
        filters = sorted({options.suite or mutant.suite for mutant in mutants})
        sound = dict(zip(filters, pool.map(suites.run, filters)))
        if not all([_tell_sound(suite, run) for suite, run in sound.items()]):
            return 2
        tally = Tally()
        runs = pool.map(lambda mutant: suites.run(options.suite or mutant.suite, mutant.number), mutants)
        for mutant, run in zip(mutants, runs):
            usual = sound[options.suite or mutant.suite].seconds
            print(tally.add(mutant, run, usual, options.shows), flush=True)
    print(f"mutants: {tally.line}; {time.monotonic() - started:.0f} s")
    return 0 if tally.is_good else 1


def _tell_sound(suite: str, run: Run) -> bool:
    """Whether a suite passes without a mutant. Prints the reason if it does not."""
    if run.end is End.PASSED and run.tests > 0:
        return True
    reason = run.end.value if run.tests else f"{run.end.value}, and it has no tests"
    print(f"mutants: {suite} does not pass with no mutant: {reason}, {run.seconds:.0f} s", file=sys.stderr)
    print("\n".join(run.output.splitlines()[-_SHOWN:]), file=sys.stderr)
    return False


sys.exit(main(sys.argv[1:]))
