"""What the engines of a cluster are asked for: counted, because times differ between machines."""

from __future__ import annotations

import random
import re
import time
import urllib.request

from cluster.nodes import Cluster, Node
from torture.program import PATIENCE, free_port

from .test_serve import ServeCase

_KIBIBYTE = 1 << 10
_MEBIBYTE = 1 << 20

# Round trips and reads by which a server finds out for /metrics whether its engines answer, at most once in five seconds.
_PROBES = 4


class Figures:
    """Counters of one server."""

    def __init__(self, node: Node, probes: str) -> None:
        self.node = node
        self._probes = probes
        self._before = self._read()

    def _read(self) -> dict[str, float]:
        with urllib.request.urlopen(f"http://{self._probes}/metrics", timeout=PATIENCE) as answer:
            text = answer.read().decode()
        return {name: float(value) for name, value in re.findall(r"^([^#\s]\S*) (\S+)$", text, re.MULTILINE)}

    def since(self) -> dict[str, int]:
        """What was counted since the last call."""
        now = self._read()
        names = {
            "puts": 'transfer_object_requests_total{method="put"}',
            "gets": 'transfer_object_requests_total{method="get"}',
            "trips": "transfer_database_round_trips_total",
        }
        counted = {key: int(now[name] - self._before[name]) for key, name in names.items()}
        counted["memory"] = int(now["process_resident_memory_bytes"])
        self._before = now
        return counted


class FiguresTests(ServeCase):
    def serve(self) -> tuple[Cluster, Figures]:
        cluster = self.cluster()
        probes = f"127.0.0.1:{free_port(random.Random())}"
        node = cluster.start("--metrics", probes)
        # The first upload opens an epoch.
        self.push(cluster, node, self.write(cluster, "first", _KIBIBYTE))
        return cluster, Figures(node, probes)

    def test_one_small_file(self) -> None:
        cluster, figures = self.serve()
        self.push(cluster, figures.node, self.write(cluster, "small", 4 * _KIBIBYTE))
        counted = figures.since()
        self.assertEqual(counted["puts"], 1)
        self.assertLessEqual(counted["trips"], 2 + _PROBES)

    def test_many_small_files(self) -> None:
        cluster, figures = self.serve()
        content = random.Random(1).randbytes(4 * _KIBIBYTE + 10_000)
        for number in range(10_000):
            path = cluster.folder / f"tree/{number // 1000}/{number}"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content[number : number + 4 * _KIBIBYTE])
        started = time.monotonic()
        self.push(cluster, figures.node, cluster.folder / "tree")
        counted = figures.since()
        # On a slow machine there are more batches, because each of up to four lanes gets results once a second.
        late = 4 * int(time.monotonic() - started)
        self.assertLessEqual(counted["puts"], 20 + late)
        self.assertLessEqual(counted["trips"], 60 + _PROBES + 4 * late)
        self.assertLess(counted["memory"], 128 * _MEBIBYTE)
        size = cluster.query(
            "SELECT sum(pg_total_relation_size(oid)) FROM pg_class WHERE relkind = 'r' AND relnamespace = 'transfer'::regnamespace"
        )
        self.assertLessEqual(int(size[0][0] or 0) / 10_000, 600)
        # Nothing has changed, so the bucket is not asked.
        self.push(cluster, figures.node, cluster.folder / "tree")
        again = figures.since()
        self.assertEqual(again["puts"], 0)
        self.assertLessEqual(again["gets"], _PROBES)

    def test_a_long_file(self) -> None:
        cluster, figures = self.serve()
        file = self.write(cluster, "long", 256 * _MEBIBYTE)
        self.push(cluster, figures.node, file)
        counted = figures.since()
        # 16 parts of 16 MiB, and the description of the file. For each part the server looks at the upload, and records it.
        self.assertEqual(counted["puts"], 16 + 1)
        self.assertLessEqual(counted["trips"], 2 * 16 + 12 + _PROBES)
        self.assertLess(counted["memory"], 128 * _MEBIBYTE)
        self.assertEqual(self.pulled(cluster, figures.node, "long"), file.read_bytes())
