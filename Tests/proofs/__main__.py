"""The command line: runs the proofs, lists them, or reports which rows are old."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Sequence
from types import FrameType

from . import check
from .catalogue import PROOFS
from .history import History
from .options import PROJECT, Options
from .runner import Runner
from .state import Busy, State
from .table import Table, TableError, duration

# The exit status that a shell reports for an interrupted command.
_INTERRUPTED = 130


def main(arguments: Sequence[str]) -> int:
    """Returns the exit status: 0 without findings, 1 with findings, 2 if a proof cannot run."""
    options = Options.parse(arguments, [proof.key for proof in PROOFS])
    history = History(PROJECT)
    state = State(options.directory, options.state)
    try:
        table = Table.read(options.document)
        if options.is_check:
            for line in check.lines(PROOFS, table, history):
                print(f"proofs: {line}")
            return 0
        if options.is_list:
            state.load()
            _list(options, table, state, history)
            return 0
        if options.is_background:
            return _begin(options, arguments)
        state.open()
    except (TableError, Busy, OSError) as error:
        print(f"proofs: {error}", file=sys.stderr)
        return 2
    signal.signal(signal.SIGTERM, _interrupt)
    runner = Runner(
        PROJECT, options.directory, PROOFS, table, state, history, options.settings,
        say=lambda text: print(f"proofs: {text}", flush=True),
    )
    try:
        return runner.run(options.choice)
    except KeyboardInterrupt:
        print("proofs: ended; the next run goes on here", flush=True)
        return _INTERRUPTED
    finally:
        state.close()


def _interrupt(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def _begin(options: Options, arguments: Sequence[str]) -> int:
    """Starts the same run in a separate session."""
    options.directory.mkdir(parents=True, exist_ok=True)
    log = options.directory / "log"
    command = [sys.executable, "-m", "proofs", *(argument for argument in arguments if argument != "--background")]
    with open(log, "ab") as output:
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=output, stderr=output, start_new_session=True
        )
    print(f"proofs: process {process.pid} runs them; its output is in {log}")
    return 0


def _list(options: Options, table: Table, state: State, history: History) -> None:
    for proof in PROOFS:
        print(f"{proof.key}: {proof.title}")
        print(f"    {proof.command(options.settings)}")
        print(f"    covers {' '.join(proof.covers)}")
        progress = state.progress.get(proof.key)
        if progress and progress.results:
            done = len(progress.results)
            print(f"    {done} parts so far in {duration(progress.seconds)}, from {progress.commit} to {progress.last_commit}")
            for finding in progress.findings:
                print(f"    FOUND: {finding}")
        if row := table.rows.get(proof.key):
            age = history.age(row.commit, proof.covers)
            commits = "an unknown number of" if age is None else str(age)
            print(f"    last proven on {row.date} for {row.commit}, {commits} commits ago: {row.figures}")


sys.exit(main(sys.argv[1:]))
