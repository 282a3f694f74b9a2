"""The command line: measures the chosen sets, one after the other, and writes the report after each of them."""

from __future__ import annotations

import signal
import sys
from types import FrameType

from .context import Bench
from .options import Options
from .prerequisites import MissingCommands, install_missing
from .processes import CommandFailed
from .report import write_report
from .requirements import verdicts
from .sets import ON_REQUEST, SETS, Skipped
from .signals import ENDING


def main() -> int:
    for number in ENDING:
        if number != signal.SIGINT:
            signal.signal(number, _end)
    options = Options.parse(sys.argv[1:], list(SETS), ON_REQUEST)
    try:
        install_missing()
        with Bench.open(options) as bench:
            return _measure(bench)
    except MissingCommands as missing:
        print(f"bench: {missing}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("bench: interrupted; everything was cleaned up", file=sys.stderr)
        return 128 + signal.SIGINT


def _end(number: int, _: FrameType | None) -> None:
    sys.exit(128 + number)


def _measure(bench: Bench) -> int:
    for name in bench.options.sets:
        try:
            SETS[name](bench)
        except Skipped as reason:
            bench.skip(name, str(reason))
        except CommandFailed as failure:
            bench.results.errors.append(f"{name}: {failure}")
        bench.end_set()
        write_report(bench.options.output, bench.results)
    judged = verdicts(bench.results)
    measured = [verdict for verdict in judged if verdict.measured is not None]
    print(f"\nRequirements: {len(measured)} of {len(judged)} were measured")
    for verdict in measured:
        print(f"  {verdict}")
    for problem in bench.results.failures():
        print(f"bench: {problem}", file=sys.stderr)
    print(f"\nThe report is in {bench.options.output}/benchmarks.md.")
    return 1 if bench.results.failures() else 0


if __name__ == "__main__":
    sys.exit(main())
