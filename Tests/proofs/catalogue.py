"""All long proofs, in the order of the table."""

from __future__ import annotations

import itertools
import random
import re
from collections.abc import Sequence
from pathlib import Path

from mutants import listing

from .proof import Item, Next, Progress, Proof, Settings, one_after_the_other

PROJECT = Path(__file__).resolve().parents[2]

# The code that the simulator runs: the intake and everything below it.
_INTAKE = tuple(
    f"Sources/Transfer{name}"
    for name in (
        "Access", "Catalog", "Codec", "Database", "Intake", "Keys", "Ledger", "Mail", "Model", "Ports", "Receipts", "Store",
        "System",
    )
)

# The sources of both programs.
_PROGRAM = ("Sources", "Package.swift")

# Seconds of one part of a long run, which is the most that an interruption loses.
_PART = 600

# Steps of the simulator, with seeds that were never used.
_STEPS = 100_000_000

# Number of mutants in one part, which first builds them and runs their suites without a mutant.
_MUTANTS_AT_ONCE = 25

# Number of mutants that are drawn from those tried before, and tried again.
_DRAWN = 150

# Rounds of torture in total, and in each part. Eight rounds share a directory.
_ROUNDS = 2000
_ROUNDS_AT_ONCE = 200
_OTHER_ROUNDS_AT_ONCE = 24

_TESTS = {
    "tests in Swift": r"Test run with (\d+) tests?",
    "in Python": r"^Ran (\d+) tests?",
}
_FAILED_TEST = r"^✘ (Test .*) failed after|^(?:FAIL|ERROR): (.*)"


def _single(command: Sequence[str]) -> Next:
    """The items of a proof that consists of one command."""
    return one_after_the_other(lambda progress, older, settings: [Item("all", command)])


# MARK: Fuzzing


def _fuzz_items(progress: Progress, older: str, settings: Settings) -> list[Item]:
    seconds = settings.each or _PART
    targets = sorted(path.name for path in (PROJECT / "Fuzz" / "seeds").iterdir() if path.is_dir())
    return [Item(name, ["make", "fuzz", f"SECONDS={seconds}", f"TARGET={name}"]) for name in targets]


# MARK: Mutants


def numbers(text: str) -> set[int]:
    """The mutants that a row lists as tried."""
    found = re.search(r"tried so far: ([0-9 -]+)", text)
    return _numbers(found[1].split() if found else [])


def _numbers(words: Sequence[str]) -> set[int]:
    """Reads the output of `ranges`."""
    found: set[int] = set()
    for word in words:
        first, _, last = word.partition("-")
        found |= set(range(int(first), int(last or first) + 1))
    return found


def ranges(numbers: Sequence[int]) -> str:
    """Numbers in as few words as possible: `1-3 7`."""
    words: list[str] = []
    rest = sorted(set(numbers))
    while rest:
        length = next((index for index, number in enumerate(rest) if number != rest[0] + index), len(rest))
        words.append(str(rest[0]) if length == 1 else f"{rest[0]}-{rest[length - 1]}")
        rest = rest[length:]
    return " ".join(words)


def _mutant_items(progress: Progress, older: str, settings: Settings) -> list[Item]:
    """First the mutants that the table does not list as tried, then some of the others, drawn by the seed of the proof.
    The name of a part lists its mutants, because the list may differ when a later run continues."""
    listed = {mutant.number: mutant for mutant in listing.read(PROJECT / "Tests" / "mutants" / "list")}
    tried = numbers(older) & set(listed)
    others = sorted(tried)
    drawn = random.Random(progress.seed).sample(others, min(_DRAWN, len(others)))
    items = []
    for kind, chosen in (("new", set(listed) - tried), ("drawn", set(drawn))):
        done = (result.name.partition(" ")[2] for result in progress.results if result.name.startswith(kind))
        chosen -= {number for words in done for number in _numbers(words.split())}
        # Mutants of one suite are adjacent, so that the suite runs only once without a mutant.
        ordered = sorted(chosen, key=lambda number: (listed[number].suite, number))
        for start in range(0, len(ordered), _MUTANTS_AT_ONCE):
            part = ordered[start:start + _MUTANTS_AT_ONCE]
            command = ["make", "mutants", "MUTANTS=" + " ".join(map(str, part))]
            items.append(Item(f"{kind} {ranges(part)}", command))
    return items


def _mutants_more(progress: Progress, older: str) -> str:
    tried = numbers(older) | {int(name) for name in progress.names}
    return f"{_DRAWN} at most drawn by seed {progress.seed}; tried so far: {ranges(sorted(tried))}"


# MARK: Simulator

_SIMULATED = {
    "runs": r"^\d+ s: (\d+) runs.*, trace",
    "steps": r"(\d+) steps, .*, trace",
    "calls": r"(\d+) calls, .*, trace",
    "uploads acknowledged": r"(\d+) uploads acknowledged.*, trace",
    "seeds that break a promise": r"(\d+) seeds break a promise, trace",
}
# A line of the final table: the number of findings and their kind.
_SIMULATED_FINDING = r"^(\d+\t.*)$|^transfer-simulate: (.*)$"


def _simulate(settings: Settings, *arguments: str) -> list[str]:
    return ["scripts/simulate.sh", "--jobs", str(settings.jobs), "--keep-going", "--quick", *arguments]


def _simulator(progress: Progress, older: str, settings: Settings) -> Item | None:
    """Runs parts until there are enough steps. No two parts share a seed: a part uses far fewer seeds than lie between
    them, and a part that is repeated because of a finding gets new ones."""
    if progress.total("steps") >= _STEPS or any(result.counts.get("steps", 0) == 0 for result in progress.results):
        return None
    part = next(number for number in itertools.count() if not progress.has(f"part-{number + 1}"))
    first = (progress.seed + part) * 1_000_000
    return Item(f"part-{part + 1}", _simulate(settings, "--seconds", str(settings.each or _PART), "--seed", str(first)))


# MARK: Torture


def _other_rounds(parts: int) -> list[str]:
    kinds = ("CUTS", "DELIVERIES", "WEB", "PAGES", "SYNCS", "MACHINES", "NEIGHBOURS")
    return [f"{kind}={_OTHER_ROUNDS_AT_ONCE * parts}" for kind in kinds]


def _torture_items(progress: Progress, older: str, settings: Settings) -> list[Item]:
    other = _other_rounds(1)
    # Each part has its own seed, because the rounds with a failing disk depend on the seed alone.
    return [
        Item(f"part-{part + 1}", ["make", "torture", f"ROUNDS={_ROUNDS_AT_ONCE}", f"SEED={progress.seed + part}", *other])
        for part in range(_ROUNDS // _ROUNDS_AT_ONCE)
    ]


_TORTURED = {
    "rounds": r"promises kept: (\d+) rounds",
    "runs of push": r"(\d+) runs of push",
    "kills": r"(\d+) kills",
    "acknowledgements": r"(\d+) acknowledgements, ",
    "files compared": r"(\d+) files compared",
    "receipt files verified": r"(\d+) receipt files verified",
}


def _from_seed(progress: Progress, older: str) -> str:
    return f"from seed {progress.seed}"


# MARK: Wires

_SESSIONS = 20_000
_SESSIONS_AT_ONCE = 2_000


def _wire_items(progress: Progress, older: str, settings: Settings) -> list[Item]:
    command = 'exec "$(scripts/swift-path.sh)" test --filter "^TransferClientTests\\.FaultyWireTests"'
    return [
        Item(
            f"part-{part + 1}", ["sh", "-c", command],
            {
                "TRANSFER_WIRE_SESSIONS": str(_SESSIONS_AT_ONCE),
                "TRANSFER_WIRE_SEED": str(progress.seed + part * _SESSIONS_AT_ONCE),
            })
        for part in range(_SESSIONS // _SESSIONS_AT_ONCE)
    ]


# MARK: Thread sanitizer

# The suites that take longest, each of which is a part. run-tests.sh has their names.
_LONG_SUITES = (
    "TransferServerTests:http", "TransferServerTests", "TransferCLITests", "TransferClientTests", "TransferClientTests:wire-sessions",
    "TransferStoreTests",
)


def _sanitizer_items(progress: Progress, older: str, settings: Settings) -> list[Item]:
    others = {path.name for path in (PROJECT / "Tests").glob("**/Transfer*Tests") if path.is_dir()} - set(_LONG_SUITES)
    parts = [*((suite, suite) for suite in _LONG_SUITES), ("others", " ".join(sorted(others)))]
    return [Item(name.replace(":", "-"), ["make", "test-tsan"], {"TRANSFER_SUITES": suites}) for name, suites in parts]


# MARK: Repeated tests

_REPEATED = 10


def _repeat_items(progress: Progress, older: str, settings: Settings) -> list[Item]:
    beside = [Item(f"beside-load-{run + 1}", ["scripts/repeat-tests.sh", "1"], {"PINNED": "0"}) for run in range(_REPEATED)]
    return [*beside, Item("one-core", ["scripts/repeat-tests.sh", "0"])]


_DIALECTS = (
    "DIALECTS_LARGE=1 TRANSFER_BINARY=.build/release/transfer "
    "python3 -m unittest discover -s Tests/dialects/tests -t Tests -p 'test_large.py'"
)

PROOFS = (
    Proof(
        key="thread-sanitizer",
        title="no data race in any target",
        covers=("Sources", "Tests"),
        command=lambda settings: "make test-tsan",
        next=one_after_the_other(_sanitizer_items),
        counts=_TESTS,
        finding=r"^(WARNING: ThreadSanitizer: .*)$|" + _FAILED_TEST,
    ),
    Proof(
        key="repeated-tests",
        title="make test is green beside load, and on one core",
        covers=("Sources", "Tests", "Package.swift", "scripts"),
        command=lambda settings: f"scripts/repeat-tests.sh {_REPEATED}",
        next=one_after_the_other(_repeat_items),
        counts={},
        finding=_FAILED_TEST,
        more=lambda progress, older: f"{_REPEATED} runs beside load on all cores, 1 on one core",
    ),
    Proof(
        key="fuzz",
        title="no bytes end the process, or break what is promised about them",
        covers=("Sources", "Fuzz"),
        command=lambda settings: f"make fuzz SECONDS={settings.each or _PART}",
        next=one_after_the_other(_fuzz_items),
        counts={"targets": r"^stat::number_of_executed_units", "executions": r"^stat::number_of_executed_units: *(\d+)"},
        finding=r"^(Finding: .*|SUMMARY: .*)$",
    ),
    Proof(
        key="mutants",
        title="the tests notice mistakes that a person could make",
        covers=("Sources", "Tests"),
        command=lambda settings: "make mutants",
        next=one_after_the_other(_mutant_items),
        counts={"noticed": r"^noticed ", "that no test can notice": r"^excused ", "not noticed": r"^UNNOTICED "},
        named=r"^(?:noticed|excused|UNNOTICED) +(\d+) ",
        finding=r"^(UNNOTICED .*)$|^mutants: (.*(?:does not|has to|have) .*)$",
        more=_mutants_more,
    ),
    Proof(
        key="holes",
        title="the simulator finds each hole that is put into a copy of the sources",
        covers=(*_INTAKE, "Tests/Simulation", "Tests/mutants"),
        command=lambda settings: "make simulate-holes" + (f" SECONDS={settings.each}" if settings.each else ""),
        next=one_after_the_other(lambda progress, older, settings: [
            Item("all", ["make", "simulate-holes", *([f"SECONDS={settings.each}"] if settings.each else [])])
        ]),
        counts={
            "found": r"^simulate-holes: (\d+) of \d+ found",
            "looked for": r"^simulate-holes: \d+ of (\d+) found",
            "of the others explained": r"found, (\d+) of the others explained",
        },
        finding=r"^([ \d]+ .*: .*)\n +NOT FOUND in \d+ s$|^simulate-holes: (.*does not.*)$",
    ),
    Proof(
        key="simulator",
        title="every promise holds in the simulator, whatever fails",
        covers=(*_INTAKE, "Tests/Simulation"),
        command=lambda settings: " ".join(_simulate(settings, "--seconds", str(settings.each or _PART))),
        next=_simulator,
        counts=_SIMULATED,
        finding=_SIMULATED_FINDING,
        more=lambda progress, older: f"from seed {progress.seed * 1_000_000}",
    ),
    Proof(
        key="simulator-seeds",
        title="so it does in the runs of seeds that broke promises once",
        covers=(*_INTAKE, "Tests/Simulation"),
        command=lambda settings: "scripts/simulate.sh --seed 40000 --runs 6001 --keep-going --quick",
        next=_single(["scripts/simulate.sh", "--seed", "40000", "--runs", "6001", "--keep-going", "--quick"]),
        counts=_SIMULATED,
        finding=_SIMULATED_FINDING,
    ),
    Proof(
        key="torture",
        title="promises outlive the death of either side, disks that lose writes, and power cuts",
        covers=(*_PROGRAM, "Tests/torture", "Tests/cluster"),
        command=lambda settings: " ".join(["make", "torture", f"ROUNDS={_ROUNDS}", *_other_rounds(_ROUNDS // _ROUNDS_AT_ONCE)]),
        next=one_after_the_other(_torture_items),
        counts=_TORTURED,
        finding=r"^(torture: seed .*)$",
        more=_from_seed,
    ),
    Proof(
        key="attack",
        title="what clients send is bounded and keeps nobody else out",
        covers=(*_PROGRAM, "Tests/TransferCLITests/EndToEnd/Attacks"),
        command=lambda settings: "make attack",
        next=_single(["make", "attack"]),
        counts={**_TESTS, "connections that starve": r"^starvation: (\d+) connections"},
        finding=_FAILED_TEST,
    ),
    Proof(
        key="http",
        title="clients, proxies and browsers of others get what HTTP promises",
        covers=("Sources/TransferHTTP", "Sources/TransferServer", "Sources/TransferIntake", "Sources/TransferIO", "Tests/web"),
        command=lambda settings: "make test-http",
        next=_single(["make", "test-http"]),
        counts={"tests": r"^Ran (\d+) tests?", "skipped": r"skipped=(\d+)"},
        finding=_FAILED_TEST,
    ),
    Proof(
        key="wire",
        title="damage on the way is never stored and never acknowledged",
        covers=tuple(f"Sources/Transfer{name}" for name in ("Client", "Connection", "IO", "Protocol", "Server")),
        command=lambda settings: f"TRANSFER_WIRE_SESSIONS={_SESSIONS} scripts/run-tests.sh",
        next=one_after_the_other(_wire_items),
        counts={},
        finding=_FAILED_TEST,
        more=lambda progress, older: f"{len(progress.results) * _SESSIONS_AT_ONCE:,} sessions from seed {progress.seed}",
    ),
    Proof(
        key="dialects",
        title="a picture of 200 MB over each older wire takes little memory",
        covers=("Sources/TransferClassic", "Sources/TransferServer", "Tests/dialects"),
        command=lambda settings: _DIALECTS,
        next=one_after_the_other(lambda progress, older, settings: [
            Item("build", ["make", "build"]), Item("all", ["sh", "-c", _DIALECTS])
        ]),
        counts={"tests": r"^Ran (\d+) tests?"},
        finding=_FAILED_TEST,
    ),
    Proof(
        key="watch",
        title="an hour of changes in a watched directory is stored, once and whole",
        covers=("Sources/TransferClient", "Sources/TransferServer", "Tests/watch"),
        command=lambda settings: "Tests/watch/hour.py",
        next=one_after_the_other(lambda progress, older, settings: [
            Item("build", ["make", "build"]), Item("all", ["Tests/watch/hour.py", "--seed", str(progress.seed)])
        ]),
        counts={"files": r"^seed .*, (\d+) files,", "stored": r"^seed .*, (\d+) stored,", "blows": r"(\d+) blows"},
        finding=r"^(seed \d+, .*: .*)$",
        more=_from_seed,
    ),
)
