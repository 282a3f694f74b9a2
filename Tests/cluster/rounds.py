"""Rounds of a cluster: clients push to several servers, anything fails, and what was acknowledged is pulled elsewhere."""

from __future__ import annotations

import random
import shutil
import subprocess
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

from torture.ledger import Stored
from torture.program import Broken, Client, until
from torture.tally import Tally

from .blows import Blows
from .custody import Custody
from .machines import Machines
from .members import Member, make_clock
from .nodes import Cluster
from .plan import MOST_NODES, ClusterPlan
from .pushers import Pusher
from .s3 import Client as Bucket

# What makes all epochs and unused objects of a cluster so old that the next sweep deletes their objects. Times are
# nanoseconds; epochs are closed after a day, and unused objects stay for an hour.
_AGE = """
UPDATE transfer.epochs SET opened = opened - 2 * 86400 * 1000000000::int8;
UPDATE transfer.objects SET emptied = emptied - 2 * 3600 * 1000000000::int8 WHERE emptied IS NOT NULL
"""
_UNSWEPT = """
SELECT count(*) FROM transfer.epochs WHERE state <> 3 AND opened < (extract(epoch FROM now()) - 86400)::int8 * 1000000000
UNION ALL SELECT count(*) FROM transfer.objects WHERE emptied < (extract(epoch FROM now()) - 3600)::int8 * 1000000000
"""


class ClusterRounds:
    """A cluster, and everything that was ever done to it. The engines are those of many clusters."""

    def __init__(
        self, transfer: Path, directory: Path, machines: Machines, tally: Tally, source: random.Random,
        show: Callable[[str], None],
    ) -> None:  # fmt: skip
        shutil.rmtree(directory, ignore_errors=True)
        directory.mkdir(parents=True)
        self.directory = directory
        self._transfer = transfer
        self._machines = machines
        self._tally = tally
        self._show = show
        self._pushers: list[Pusher] = []
        # What was acknowledged, by the folder of a round.
        self._custody: dict[str, Custody] = {}
        self._members: list[Member] = []
        self._client: Client | None = None
        settings = machines.settings
        self._cluster = Cluster(settings=settings, folder=directory, program=transfer)
        clock = make_clock(directory)
        for number in range(source.randint(2, MOST_NODES)):
            self._members.append(Member(self._cluster, settings, number, clock))
        self._blows = Blows(machines, self._members, self._cluster.name, show)
        self._balancer = ""
        self._is_closed = False

    @property
    def nodes(self) -> int:
        """The number of servers."""
        return len(self._members)

    def play(self, number: int, plan: ClusterPlan, source: random.Random) -> None:
        """Plays one round. Raises Broken if a promise is broken."""
        if not self._balancer:
            self._start()
        folder = f"round {number}"
        custody = self._custody[folder] = Custody()
        self._pushers = [
            Pusher(self._transfer, self.directory / f"client-{number}-{one}", folder, custody, self._address, self._show)
            for one in range(len(plan.clients))
        ]
        self._disturb(plan)
        if any(pusher.problem for pusher in self._pushers):
            raise next(pusher.problem for pusher in self._pushers if pusher.problem)
        self._compare(folder, plan.witness)
        for pusher in self._pushers:
            pusher.finish(source, self.nodes)
            self._tally.clusters.update(pusher.counts)
        self._compare(folder, (plan.witness + 1) % self.nodes)
        self._listen()
        self._tally.clusters["rounds"] += 1
        for one in range(len(plan.clients)):
            shutil.rmtree(self.directory / f"client-{number}-{one}")
        self._pushers = []

    def end(self) -> None:
        """Lets a server sweep, and compares everything through each server. Raises Broken if a promise is broken."""
        if not self._balancer:
            return
        for member in self._members:
            member.set_clock(0)
            member.node.stop()
        self._cluster.find(self._machines.settings)
        self._cluster.query(_AGE)
        for member in self._members:
            member.start()
        self._await_sweep()
        self._compare_objects()
        for witness in range(self.nodes):
            for folder in self._custody:
                self._compare(folder, witness)
        for member in self._members:
            self._tally.memory = max(self._tally.memory, member.node.memory)
            member.node.stop()
        self._listen()

    def keep(self) -> None:
        """Copies the database's rows and the logs of the engines into the directory, after a failure."""
        self._cluster.find(self._machines.settings)
        with (self.directory / "database.sql").open("wb") as rows:
            subprocess.run(["pg_dump", "--inserts", self._cluster.address], stdout=rows, check=False)
        for log in self._machines.directory.glob("*/*/*.log"):
            shutil.copy(log, self.directory / f"{log.parent.name}-{log.name}")

    def close(self) -> None:
        """Ends all processes but the engines, and leaves the directory."""
        if self._is_closed:
            return
        self._is_closed = True
        for pusher in self._pushers:
            pusher.end()
        if self._client is not None:
            self._client.abandon()
        for member in self._members:
            member.close()
        self._cluster.find(self._machines.settings)
        bucket = Bucket(self._cluster.bucket)
        for key in self._keys():
            bucket.delete(key)
        self._cluster.close()

    # Running

    def _start(self) -> None:
        for member in self._members:
            member.start()
        self._balancer = self._cluster.balance([member.node for member in self._members])

    def _address(self, target: int | None) -> str:
        return self._balancer if target is None else self._members[target % self.nodes].node.address

    def _disturb(self, plan: ClusterPlan) -> None:
        """Lets the clients work beside the faults."""
        over = threading.Event()
        threads = [
            threading.Thread(target=pusher.work, args=(jobs,), daemon=True)
            for pusher, jobs in zip(self._pushers, plan.clients, strict=True)
        ]
        for thread in threads:
            thread.start()
        watch = threading.Thread(target=lambda: ([thread.join() for thread in threads], over.set()), daemon=True)
        watch.start()
        try:
            self._tally.clusters["blows"] += self._blows.strike(plan.blows, over)
        finally:
            self._blows.recover()
        watch.join()

    # Looking

    def _compare(self, folder: str, witness: int) -> None:
        """Pulls a folder through a server and compares everything in it."""
        place = self.directory / "witness"
        shutil.rmtree(place, ignore_errors=True)
        words = ["pull", folder, "--from", self._address(witness), "--trust-new", "-o", f"{place}/"]
        command = ["env", f"HOME={self.directory}", str(self._transfer), *words]
        self._client = Client(command, self.directory, None, self.directory / "witness.log")
        self._show(self._client.shown)
        run = self._client.finish()
        self._client = None
        custody = self._custody[folder]
        if run.status != 0 and custody.certain > 0:
            raise Broken(f"without any fault a pull ended with status {run.status}: {run.errors[-1000:]}")
        found = Stored(place).look() if place.exists() else {}
        self._tally.clusters["compared"] += len(found)
        problems = list(custody.problems(found))
        if problems:
            raise Broken(f"{len(problems)} broken promises: " + "; ".join(problems[:5]))

    def _await_sweep(self) -> None:
        self._cluster.find(self._machines.settings)
        process = self._members[0].node.process
        assert process is not None
        until(
            lambda: not any(int(row[0] or b"0") for row in self._cluster.query(_UNSWEPT)),
            process,
            "the sweeper does not delete what is old",
        )

    def _compare_objects(self) -> None:
        """Compares the objects in the bucket with their rows."""
        rows = {int(row[0] or b"0") for row in self._cluster.query("SELECT number FROM transfer.objects")}
        objects = {int(key.rpartition("/")[2], 16) for key in self._keys() if key.startswith(f"{self._cluster.name}/e/")}
        if lost := rows - objects:
            raise Broken(f"{len(lost)} rows without an object, such as {min(lost):x}")
        if orphans := objects - rows:
            raise Broken(f"after a sweep {len(orphans)} objects without a row, such as {min(orphans):x}")
        self._tally.clusters["objects"] += len(objects)

    def _keys(self) -> Iterator[str]:
        bucket = Bucket(self._cluster.bucket)
        query: dict[str, str] = {}
        while True:
            page = bucket.list(f"{self._cluster.name}/", **query)
            yield from page.keys
            if page.next is None:
                return
            query = {"continuation-token": page.next}

    def _listen(self) -> None:
        """Raises Broken if a server has ended by itself, or has written what is no line of a log."""
        for member in self._members:
            if member.node.runs:
                _ = member.node.descriptors
            for line in member.node.log.read_bytes().splitlines():
                if line and not line.startswith((b"{", b"transfer: ")):
                    raise Broken(f"a server said: {line[:500].decode(errors='replace')}")
