"""A server of a cluster over SeaweedFS and PostgreSQL, beside rclone and curl to the same bucket."""

from __future__ import annotations

import os
import random
import re
import secrets
import statistics
import sys
import time
import unittest
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from .. import corpus, resident
from ..context import Bench
from ..corpus import Corpus
from ..options import PROJECT
from ..processes import CommandFailed
from ..results import Table
from .common import GIBIBYTE, SMALL_COUNT, SMALL_IN_DIRECTORY, SMALL_SIZE, Skipped, medians

# The engines and the servers of the tests.
sys.path.insert(0, str(PROJECT / "Tests"))

from cluster import engines
from cluster.nodes import Cluster, Node
from cluster.s3 import Endpoint
from cluster.s3_proxy import S3Proxy
from torture.program import Refused, free_port

_ENGINE = "seaweedfs"
_UNCHANGED, _UNCHANGED_SIZE = 100_000, 1024

# Files that rclone copies at a time; with the usual four it is slower.
_AT_ONCE = "16"

# Pushes of one file for each delay, and the delays of a PUT in seconds.
_REPETITIONS = 50
_DELAYS = (0.0, 0.02, 0.1)

_COUNTERS = {
    "put": 'transfer_object_requests_total{method="put"}',
    "get": 'transfer_object_requests_total{method="get"}',
    "trips": "transfer_database_round_trips_total",
}


def cluster(bench: Bench) -> None:
    """Small files, a long file, an unchanged tree, and the acknowledgement of one file."""
    os.environ["TRANSFER_BINARY"] = bench.program.path
    try:
        engines.postgres()
        engines.endpoint(_ENGINE)
    except unittest.SkipTest as missing:
        raise Skipped(str(missing)) from missing
    bench.say("cluster: a server over SeaweedFS and PostgreSQL")
    small = corpus.small_files(bench.source / "small", SMALL_COUNT, SMALL_SIZE, SMALL_IN_DIRECTORY)
    rows = [
        _compare(bench, f"{SMALL_COUNT:,} files of 4 KiB", small),
        _compare(bench, "1 GiB, one file", corpus.one_file(bench.source / "big", GIBIBYTE)),
        _unchanged(bench),
    ]
    bench.results.figures["cluster.small"] = SMALL_COUNT / float(rows[0][1])
    bench.results.figures["cluster.big"] = float(rows[1][2]) / float(rows[1][1])
    header = ["work", "transfer", "rclone copy", "PUT", "round trips", "peak of the server", "database for each file"]
    notes = [
        f"{medians(bench.options.runs)} in turn, in seconds. Each push has a new cluster of one server.",
        "The unchanged tree is pushed once; PUTs and round trips are those of the second push.",
        f"PostgreSQL works {bench.results.figures['cluster.database']:.0f} µs of one core for each of the small files.",
    ]
    bench.add("cluster", Table("A server of a cluster beside rclone", header, rows, notes))
    _acknowledge(bench)


@dataclass
class _Pushed:
    """What one push has cost."""

    wall: float
    counts: dict[str, int]
    database: float
    """Processor seconds of PostgreSQL."""


class _Serving:
    """A new cluster with one server."""

    def __init__(self, proxy: S3Proxy | None = None) -> None:
        self.cluster = Cluster(_ENGINE, bucket=proxy)
        self._probes = f"127.0.0.1:{free_port(random.Random())}"
        self._node: Node = self.cluster.start("--metrics", self._probes)
        # The first upload opens an epoch.
        first = self.cluster.folder / "first"
        first.write_bytes(b"first")
        self.push(first)

    def push(self, path: Path, *words: str) -> _Pushed:
        """Pushes a file or a folder, from the start of the client to its end."""
        before, busy, started = self._counts(), _database_seconds(), time.perf_counter()
        self.cluster.run("push", str(path), "--to", self._node.address, *words)
        wall, after = time.perf_counter() - started, self._counts()
        return _Pushed(wall, {name: after[name] - before[name] for name in after}, _database_seconds() - busy)

    def _counts(self) -> dict[str, int]:
        with urllib.request.urlopen(f"http://{self._probes}/metrics") as answer:
            text = answer.read().decode()
        found = dict(re.findall(r"^([^#\s]\S*) (\S+)$", text, re.MULTILINE))
        return {name: int(float(found[counter])) for name, counter in _COUNTERS.items()}

    @property
    def peak(self) -> int:
        """The most memory that the server has had, in MiB."""
        assert self._node.process is not None
        return resident.peak(resident.serving_process(self._node.process.pid)) >> 10

    @property
    def database(self) -> int:
        """Bytes of tables and indexes."""
        size = self.cluster.query(
            "SELECT sum(pg_total_relation_size(oid)) FROM pg_class "
            "WHERE relkind = 'r' AND relnamespace = 'transfer'::regnamespace")
        return int(size[0][0] or 0)


def _database_seconds() -> float:
    """Processor seconds of all processes of PostgreSQL so far, also of those that have ended (proc(5), stat)."""
    server, ticks = engines.pid("postgres"), 0
    for process in Path("/proc").glob("[0-9]*"):
        try:
            fields = (process / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            # The process has ended.
            continue
        own, ended = sum(map(int, fields[11:13])), sum(map(int, fields[13:15]))
        if int(process.name) == server:
            ticks += own + ended
        elif int(fields[1]) == server:
            ticks += own
    return ticks / os.sysconf("SC_CLK_TCK")


@contextmanager
def _serving(proxy: S3Proxy | None = None) -> Iterator[_Serving]:
    serving = None
    try:
        serving = _Serving(proxy)
        yield serving
    except (AssertionError, Refused) as error:
        raise CommandFailed(str(error)) from error
    finally:
        if serving:
            serving.cluster.close()


def _compare(bench: Bench, title: str, files: Corpus) -> list[str]:
    """Pushes files and copies them with rclone, in turn."""
    own, other, busy = [], [], []
    # The first run warms up.
    for number in range(bench.options.runs + 1):
        with _serving() as serving:
            empty = serving.database
            pushed, peak = serving.push(files.root), serving.peak
            each = (serving.database - empty) / files.count
        copied = _copy(bench, files)
        if number > 0:
            own.append(pushed.wall)
            other.append(copied)
            busy.append(pushed.database)
    if files.count == SMALL_COUNT:
        microseconds = statistics.median(busy) / files.count * 1e6
        bench.say(f"  PostgreSQL works {microseconds:.0f} µs for each file")
        bench.results.figures["cluster.database"] = microseconds
    walls = statistics.median(own), statistics.median(other)
    return _row(bench, title, f"{walls[0]:.2f}", f"{walls[1]:.2f}", pushed, peak, f"{each:.0f} bytes")


def _unchanged(bench: Bench) -> list[str]:
    files = corpus.small_files(bench.source / "unchanged", _UNCHANGED, _UNCHANGED_SIZE, SMALL_IN_DIRECTORY)
    with _serving() as serving:
        empty = serving.database
        serving.push(files.root)
        again = serving.push(files.root)
        each = (serving.database - empty) / files.count
        title = f"{_UNCHANGED:,} unchanged files"
        return _row(bench, title, f"{again.wall:.2f}", "", again, serving.peak, f"{each:.0f} bytes")


def _row(bench: Bench, title: str, own: str, other: str, pushed: _Pushed, peak: int, each: str) -> list[str]:
    counts = [f"{pushed.counts[name]:,}" for name in ("put", "trips")]
    bench.say(f"  {title:<26}{own:>8} s, rclone {other or '–':>6} s; PUTs, trips: {counts}; {peak} MiB; {each}")
    return [title, own, other, *counts, f"{peak} MiB", each]


def _copy(bench: Bench, files: Corpus) -> float:
    """Copies files into the bucket with rclone. Returns seconds."""
    program = Path(os.environ.get("ENGINES_VENV", PROJECT / ".build/engines-venv")) / "bin/rclone"
    endpoint = engines.endpoint(_ENGINE)
    remote = {
        "TYPE": "s3", "PROVIDER": "Other", "ENDPOINT": endpoint.url, "FORCE_PATH_STYLE": "true",
        "ACCESS_KEY_ID": endpoint.key, "SECRET_ACCESS_KEY": endpoint.secret,
    }
    environment = {f"RCLONE_CONFIG_BUCKET_{name}": value for name, value in remote.items()}
    target = f"bucket:{endpoint.bucket}/copies-{secrets.token_hex(8)}"
    started = time.perf_counter()
    command = [str(program), "copy", "--transfers", _AT_ONCE, str(files.root), target]
    bench.processes.run(command, environment=environment | {"RCLONE_CONFIG": os.devnull})
    return time.perf_counter() - started


def _acknowledge(bench: Bench) -> None:
    """One file of 4 KiB, pushed repeatedly, while each PUT takes longer."""
    rows = []
    for delay in _DELAYS:
        endpoint = engines.endpoint(_ENGINE)
        proxy = S3Proxy(endpoint.url)
        try:
            if delay:
                proxy.faults.add("delay", method="PUT", seconds=delay)
            with _serving(proxy) as serving:
                own, other = _measure(bench, serving, endpoint.at(proxy.url))
        finally:
            proxy.close()
        milliseconds = f"{delay * 1000:.0f} ms"
        rows.append([milliseconds, *(f"{value * 1000:.0f}" for value in (*own, *other))])
        bench.say(f"  one file, a PUT {milliseconds} longer: {rows[-1][1:]} ms")
    header = ["a PUT takes longer by", "push, p50", "push, p99", "curl, p50", "curl, p99"]
    notes = [f"{_REPETITIONS} in turn for each row, in ms, from the start of the client to its end, through a proxy."]
    bench.add("cluster", Table("One file of 4 KiB into a cluster, beside a PUT by curl", header, rows, notes))


def _measure(
    bench: Bench, serving: _Serving, endpoint: Endpoint
) -> tuple[tuple[float, float], tuple[float, float]]:
    """Medians and 99th percentiles of pushes and of PUTs by curl, in seconds."""
    file = serving.cluster.folder / "one"
    url = f"{endpoint.url}/{endpoint.bucket}/one-{secrets.token_hex(8)}"
    curl = ["curl", "-sSf", "-T", str(file), "--aws-sigv4", f"aws:amz:{endpoint.region}:s3"]
    curl += ["--user", f"{endpoint.key}:{endpoint.secret}", "-H", "x-amz-content-sha256: UNSIGNED-PAYLOAD"]
    own, other = [], []
    for number in range(_REPETITIONS + 1):
        file.write_bytes(secrets.token_bytes(SMALL_SIZE))
        pushed = serving.push(file, "--name", f"one-{number}").wall
        started = time.perf_counter()
        bench.processes.run([*curl, f"{url}-{number}"])
        if number > 0:
            own.append(pushed)
            other.append(time.perf_counter() - started)
    return _percentiles(own), _percentiles(other)


def _percentiles(times: list[float]) -> tuple[float, float]:
    return statistics.median(times), statistics.quantiles(times, n=100, method="inclusive")[-1]
