"""The plan of a round of a cluster, decided by its seed alone."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

# Servers of a cluster at most; a plan names servers that exist.
MOST_NODES = 3

# Seconds of a year, by which a clock is wrong.
YEAR = 365 * 24 * 3600

# How often each kind of blow is chosen, and the most seconds that it usually lasts.
KINDS: dict[str, tuple[int, float]] = {
    "kill": (10, 2.0),
    "stop": (2, 1.0),
    "freeze": (5, 4.0),
    "clock": (2, 0.0),
    "names": (3, 3.0),
    "bucket weather": (8, 4.0),
    "database weather": (8, 4.0),
    "end sessions": (3, 0.0),
    "crash database": (3, 1.0),
    "freeze database": (2, 3.0),
    "freeze standby": (2, 3.0),
    "kill standby": (1, 2.0),
    "promote": (2, 0.0),
    "full": (3, 3.0),
    "kill bucket": (3, 1.0),
    "freeze bucket": (2, 3.0),
}

# Kinds that need root: mounts, or a name space of mounts.
NEED_ROOT = frozenset({"full", "names"})

# A server or engine that is stopped for so many seconds has let every time-out of the others pass.
_LONG = 45.0
_LONG_SHARE = 0.04

# Faults of the proxy before the bucket, with their options. An engine that says that it has stored what it has not (`forget`)
# cannot be survived, so it is not here.
_BUCKET: tuple[tuple[str, dict[str, Any]], ...] = (
    ("answer", {"status": 500}),
    ("answer", {"status": 503, "retry_after": "1"}),
    ("answer", {"status": 503, "early": True}),
    ("cut-before", {}),
    ("cut-body", {}),
    ("cut-answer", {}),
    ("lose-answer", {}),
    ("duplicate", {"seconds": 1.0}),
    ("wrong-etag", {}),
    # An engine that always returns other bytes looks like one that has lost them.
    ("corrupt", {"method": "GET", "times": 1, "probability": 1.0}),
    ("corrupt-request", {"method": "PUT"}),
    ("shorten", {"method": "GET", "times": 3, "probability": 1.0}),
    ("slow", {"rate": 2 << 20}),
    ("delay", {"seconds": 0.2}),
)

_DATABASE: tuple[tuple[str, dict[str, Any]], ...] = (
    ("cut-before", {"method": "COMMIT"}),
    ("cut-in", {"method": "COMMIT"}),
    ("cut-behind", {"method": "COMMIT"}),
    ("warn", {"method": "COMMIT"}),
    ("hold", {"method": "COMMIT"}),
    ("cut-before", {"method": "QUERY"}),
    ("cut-in", {"method": "QUERY"}),
    ("cut-behind", {"method": "QUERY"}),
    ("refuse", {"method": "CONNECT"}),
    ("delay", {"method": "QUERY", "seconds": 0.1}),
)


@dataclass(frozen=True)
class Blow:
    """One fault: after a pause of so many seconds, for so many seconds."""

    kind: str
    # Number of the server, or None for all; without meaning for engines.
    node: int | None
    pause: float
    seconds: float
    # Seconds by which the server's clock is wrong after a restart.
    clock: int = 0
    # Fault of a proxy.
    fault: str = ""
    options: dict[str, Any] = field(default_factory=dict)

    @staticmethod
    def make(source: random.Random, nodes: int, kinds: Sequence[str]) -> Blow:
        kind = source.choices(kinds, [KINDS[kind][0] for kind in kinds])[0]
        node = source.randrange(nodes)
        seconds = source.uniform(0, KINDS[kind][1])
        if kind.startswith("freeze") and source.random() < _LONG_SHARE:
            seconds = _LONG
        clock = source.choice([-YEAR, YEAR]) if kind == "clock" else 0
        fault, options = "", dict[str, Any]()
        if kind.endswith("weather"):
            fault, options = source.choice(_BUCKET if kind.startswith("bucket") else _DATABASE)
            options = {"probability": source.choice([0.05, 0.3, 1.0])} | options
        everywhere = kind.endswith("weather") and source.random() < 0.4
        return Blow(kind, None if everywhere else node, source.uniform(0, 1.2), seconds, clock, fault, options)


@dataclass(frozen=True)
class Job:
    """One step of a client."""

    # "files", "long", "again", "overwrite", "move", "move folder", "remove" or "pull"
    kind: str
    # Number of the server, or None for the balancer.
    target: int | None
    flags: tuple[str, ...]
    # Seconds after which the client is killed, or None.
    killed: float | None
    seed: int

    @staticmethod
    def make(source: random.Random, nodes: int, first: bool) -> Job:
        kinds = {"files": 6, "long": 2, "again": 2, "overwrite": 2, "move": 2, "move folder": 1, "remove": 2, "pull": 3}
        kind = source.choices(list(kinds), list(kinds.values()))[0]
        if first and kind != "long":
            kind = "files"
        flags = ["--lanes", str(source.choice([1, 2, 4]))]
        if source.random() < 0.2:
            flags += ["--compress", source.choice(["zlib", "zstd", "none"])]
        target = None if source.random() < 0.5 else source.randrange(nodes)
        killed = source.uniform(0.02, 1.0) if source.random() < 0.2 else None
        return Job(kind, target, tuple(flags), killed, source.getrandbits(32))


@dataclass(frozen=True)
class ClusterPlan:
    """One round: what each client does, and what happens meanwhile."""

    clients: tuple[tuple[Job, ...], ...]
    blows: tuple[Blow, ...]
    # Number of the server through which everything is compared.
    witness: int

    @staticmethod
    def make(source: random.Random, nodes: int, is_root: bool) -> ClusterPlan:
        kinds = [kind for kind in KINDS if is_root or kind not in NEED_ROOT]
        clients = tuple(
            tuple(Job.make(source, nodes, first=number == 0) for number in range(source.randint(3, 6)))
            for _ in range(source.randint(1, 3))
        )
        blows = tuple(Blow.make(source, nodes, kinds) for _ in range(source.randint(1, 4)))
        return ClusterPlan(clients, blows, source.randrange(nodes))

    @property
    def words(self) -> str:
        """The blows, for people."""
        return ", ".join(
            f"{blow.kind}{'' if blow.node is None else f' {blow.node}'} {blow.fault}".rstrip() + f" for {blow.seconds:.1f} s"
            for blow in self.blows
        )
