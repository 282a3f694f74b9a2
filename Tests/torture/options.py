"""The options of the command line."""

from __future__ import annotations

import argparse
import secrets
from dataclasses import dataclass
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[2]

ROUNDS = 200

# For every 10 rounds, one more round has power cuts; a short run has two.
_CUTS = 10
_LEAST_CUTS = 2

# For every 5 rounds, one more is beside a user who changes names in the folder. Its commands take some seconds each.
_NEIGHBOURS = 5

# For every 20 rounds, one more has a browser with the page. It takes some seconds.
_PAGES = 20

# For every 20 rounds, one more has a cluster over engines that fail. It takes some seconds, and the engines as many to start.
_CLUSTERS = 20

# Number of rounds that share a directory, so that it accumulates a history.
HISTORY = 8


@dataclass(frozen=True)
class Options:
    """The options of one run."""

    rounds: int
    # Number of rounds with power cuts, and the first of them.
    cuts: int
    first_cut: int
    # Number of rounds of deliveries, and the first of them.
    deliveries: int
    first_delivery: int
    # Number of rounds with uploads over HTTP, and the first of them.
    web: int
    first_web: int
    # Number of rounds of syncs, and the first of them.
    syncs: int
    first_sync: int
    # Number of rounds beside a user who changes names in the folder, and the first of them.
    neighbours: int
    first_neighbour: int
    # Number of rounds in which two machines sync one folder, and the first of them.
    machines: int
    first_machine: int
    # Number of rounds with uploads by the page in a browser, and the first of them.
    pages: int
    first_page: int
    # Number of rounds with a cluster, and the first of them.
    clusters: int
    first_cluster: int
    seed: int
    first: int
    directory: Path
    keeps: bool
    transfer: Path

    def repeating(self, number: int) -> str:
        """The command that repeats a round, with all rounds before it in the same directory."""
        start = number - number % HISTORY
        return f"make torture SEED={self.seed} FIRST={start} ROUNDS={number - start + 1} DIR={self.directory} KEEP=1"

    def repeating_cut(self, number: int) -> str:
        """The command that repeats a round with power cuts, without others."""
        return f"make torture SEED={self.seed} ROUNDS=0 CUTS=1 FIRST_CUT={number} DIR={self.directory} KEEP=1"

    def repeating_delivery(self, number: int) -> str:
        """The command that repeats a round of deliveries, with all rounds before it in the same directories."""
        start = number - number % HISTORY
        chosen = f"FIRST_DELIVERY={start} DELIVERIES={number - start + 1}"
        return f"make torture SEED={self.seed} ROUNDS=0 CUTS=0 {chosen} DIR={self.directory} KEEP=1"

    def repeating_web(self, number: int) -> str:
        """The command that repeats a round over HTTP, with all rounds before it in the same directory."""
        start = number - number % HISTORY
        chosen = f"FIRST_WEB={start} WEB={number - start + 1}"
        return f"make torture SEED={self.seed} ROUNDS=0 CUTS=0 DELIVERIES=0 {chosen} DIR={self.directory} KEEP=1"

    def repeating_sync(self, number: int) -> str:
        """The command that repeats a round of syncs, with all rounds before it in the same directory."""
        start = number - number % HISTORY
        chosen = f"FIRST_SYNC={start} SYNCS={number - start + 1}"
        return f"make torture SEED={self.seed} ROUNDS=0 CUTS=0 DELIVERIES=0 WEB=0 {chosen} DIR={self.directory} KEEP=1"

    def repeating_machine(self, number: int) -> str:
        """The command that repeats a round of two machines, with all rounds before it in the same directory."""
        start = number - number % HISTORY
        chosen = f"FIRST_MACHINE={start} MACHINES={number - start + 1}"
        return f"make torture SEED={self.seed} ROUNDS=0 CUTS=0 DELIVERIES=0 WEB=0 SYNCS=0 {chosen} DIR={self.directory} KEEP=1"

    def repeating_neighbour(self, number: int) -> str:
        """The command that repeats a round beside a neighbour, with all rounds before it in the same directory."""
        start = number - number % HISTORY
        chosen = f"FIRST_NEIGHBOUR={start} NEIGHBOURS={number - start + 1}"
        others = "ROUNDS=0 CUTS=0 DELIVERIES=0 WEB=0 SYNCS=0 MACHINES=0"
        return f"make torture SEED={self.seed} {others} {chosen} DIR={self.directory} KEEP=1"

    def repeating_page(self, number: int) -> str:
        """The command that repeats a round with the page, with all rounds before it in the same directory."""
        start = number - number % HISTORY
        chosen = f"FIRST_PAGE={start} PAGES={number - start + 1}"
        return f"make torture SEED={self.seed} ROUNDS=0 CUTS=0 {chosen} DIR={self.directory} KEEP=1"

    def repeating_cluster(self, number: int) -> str:
        """The command that repeats a round with a cluster, with all rounds before it in the same cluster."""
        start = number - number % HISTORY
        chosen = f"FIRST_CLUSTER={start} CLUSTERS={number - start + 1}"
        return f"make torture SEED={self.seed} ROUNDS=0 CUTS=0 {chosen} DIR={self.directory} KEEP=1"

    @staticmethod
    def parse(arguments: list[str]) -> Options:
        """Reads the command line. Ends the program if the command line is wrong."""
        parser = _parser()
        found = parser.parse_args(arguments)
        if found.rounds < 0 or found.first < 0:
            parser.error("--rounds and --first must be at least 0")
        cuts = max(_LEAST_CUTS, found.rounds // _CUTS) if found.cuts is None else found.cuts
        if cuts < 0 or found.first_cut < 0:
            parser.error("--cuts and --first-cut must be at least 0")
        deliveries = found.rounds if found.deliveries is None else found.deliveries
        if deliveries < 0 or found.first_delivery < 0:
            parser.error("--deliveries and --first-delivery must be at least 0")
        web = found.rounds if found.web is None else found.web
        if web < 0 or found.first_web < 0:
            parser.error("--web and --first-web must be at least 0")
        syncs = found.rounds if found.syncs is None else found.syncs
        if syncs < 0 or found.first_sync < 0:
            parser.error("--syncs and --first-sync must be at least 0")
        machines = found.rounds if found.machines is None else found.machines
        if machines < 0 or found.first_machine < 0:
            parser.error("--machines and --first-machine must be at least 0")
        neighbours = -(-found.rounds // _NEIGHBOURS) if found.neighbours is None else found.neighbours
        if neighbours < 0 or found.first_neighbour < 0:
            parser.error("--neighbours and --first-neighbour must be at least 0")
        pages = -(-found.rounds // _PAGES) if found.pages is None else found.pages
        if pages < 0 or found.first_page < 0:
            parser.error("--pages and --first-page must be at least 0")
        clusters = -(-found.rounds // _CLUSTERS) if found.clusters is None else found.clusters
        if clusters < 0 or found.first_cluster < 0:
            parser.error("--clusters and --first-cluster must be at least 0")
        if not found.transfer.exists():
            parser.error(f"{found.transfer} is not there; run 'make build' first")
        # A directory begins with its first round, and later rounds depend on its content.
        first = found.first - found.first % HISTORY
        seed = secrets.randbelow(1_000_000_000) if found.seed is None else found.seed
        return Options(
            rounds=found.rounds,
            cuts=cuts,
            first_cut=found.first_cut,
            deliveries=deliveries,
            first_delivery=found.first_delivery - found.first_delivery % HISTORY,
            web=web,
            first_web=found.first_web - found.first_web % HISTORY,
            syncs=syncs,
            first_sync=found.first_sync - found.first_sync % HISTORY,
            machines=machines,
            first_machine=found.first_machine - found.first_machine % HISTORY,
            neighbours=neighbours,
            first_neighbour=found.first_neighbour - found.first_neighbour % HISTORY,
            pages=pages,
            first_page=found.first_page - found.first_page % HISTORY,
            clusters=clusters,
            first_cluster=found.first_cluster - found.first_cluster % HISTORY,
            seed=seed,
            first=first,
            directory=found.dir.resolve(),
            keeps=found.keep,
            transfer=found.transfer.resolve(),
        )


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="torture", description="Kills servers and clients in the middle of what they do and checks what is stored."
    )
    parser.add_argument("--rounds", type=int, default=ROUNDS, metavar="N", help=f"how many (default: {ROUNDS})")
    parser.add_argument("--seed", type=int, metavar="N", help="repeat a run (default: a new one)")
    parser.add_argument("--first", type=int, default=0, metavar="N", help="number of the first round (default: 0)")
    parser.add_argument(
        "--cuts",
        type=int,
        metavar="N",
        help=f"rounds with power cuts (default: one for {_CUTS} others, {_LEAST_CUTS} at least)",
    )
    parser.add_argument("--first-cut", type=int, default=0, metavar="N", help="number of the first of these (default: 0)")
    parser.add_argument(
        "--deliveries", type=int, metavar="N", help="rounds in which files are sent to people (default: as many as others)"
    )
    parser.add_argument(
        "--first-delivery", type=int, default=0, metavar="N", help="number of the first of these (default: 0)"
    )
    parser.add_argument("--web", type=int, metavar="N", help="rounds with uploads over HTTP (default: as many as others)")
    parser.add_argument("--first-web", type=int, default=0, metavar="N", help="number of the first of these (default: 0)")
    parser.add_argument(
        "--syncs", type=int, metavar="N", help="rounds in which trees are made the same (default: as many as others)"
    )
    parser.add_argument("--first-sync", type=int, default=0, metavar="N", help="number of the first of these (default: 0)")
    parser.add_argument(
        "--machines", type=int, metavar="N", help="rounds in which two machines sync one folder (default: as many as others)"
    )
    parser.add_argument("--first-machine", type=int, default=0, metavar="N", help="number of the first of these (default: 0)")
    parser.add_argument(
        "--neighbours", type=int, metavar="N",
        help=f"rounds beside a user who changes names in the folder (default: one for {_NEIGHBOURS} others)",
    )  # fmt: skip
    parser.add_argument(
        "--first-neighbour", type=int, default=0, metavar="N", help="number of the first of these (default: 0)"
    )
    parser.add_argument(
        "--pages", type=int, metavar="N",
        help=f"rounds with uploads by the page in Chromium (default: one for {_PAGES} others)",
    )  # fmt: skip
    parser.add_argument("--first-page", type=int, default=0, metavar="N", help="number of the first of these (default: 0)")
    parser.add_argument(
        "--clusters", type=int, metavar="N",
        help=f"rounds with a cluster over PostgreSQL and SeaweedFS (default: one for {_CLUSTERS} others)",
    )  # fmt: skip
    parser.add_argument(
        "--first-cluster", type=int, default=0, metavar="N", help="number of the first of these (default: 0)"
    )
    parser.add_argument(
        "--dir", type=Path, default=PROJECT / ".build" / "torture", help="where to work (default: .build/torture)"
    )
    parser.add_argument("--keep", action="store_true", help="leave the directory of a failed round")
    parser.add_argument(
        "--transfer", type=Path, default=PROJECT / ".build" / "release" / "transfer", help="the program to torture"
    )
    return parser
