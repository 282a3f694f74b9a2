from __future__ import annotations

import random
import unittest

from cluster import postgres_proxy, s3_proxy
from cluster.faults import Faults
from cluster.plan import KINDS, NEED_ROOT, ClusterPlan


class ClusterPlanTests(unittest.TestCase):
    def plans(self, is_root: bool = True) -> list[ClusterPlan]:
        return [ClusterPlan.make(random.Random(seed), 2 + seed % 2, is_root) for seed in range(400)]

    def test_a_seed_decides_the_round(self) -> None:
        self.assertEqual(self.plans(), self.plans())

    def test_every_kind_of_blow_comes(self) -> None:
        self.assertEqual({blow.kind for plan in self.plans() for blow in plan.blows}, set(KINDS))
        self.assertFalse({blow.kind for plan in self.plans(is_root=False) for blow in plan.blows} & NEED_ROOT)

    def test_the_proxies_know_the_faults(self) -> None:
        faults = {"bucket": Faults(frozenset(s3_proxy.KINDS)), "database": Faults(frozenset(postgres_proxy.KINDS))}
        for plan in self.plans():
            for blow in plan.blows:
                if blow.fault:
                    faults[blow.kind.partition(" ")[0]].add(blow.fault, **blow.options)

    def test_only_servers_of_the_cluster_are_named(self) -> None:
        for seed, plan in enumerate(self.plans()):
            nodes = 2 + seed % 2
            numbers = [plan.witness, *(blow.node for blow in plan.blows if blow.node is not None)]
            numbers += [job.target for jobs in plan.clients for job in jobs if job.target is not None]
            self.assertLess(max(numbers), nodes)

    def test_each_client_begins_with_files(self) -> None:
        for plan in self.plans():
            self.assertTrue(all(jobs[0].kind in ("files", "long") for jobs in plan.clients))
