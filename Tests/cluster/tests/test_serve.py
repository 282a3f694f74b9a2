"""transfer serve --store, over PostgreSQL and SeaweedFS: two servers are one service."""

from __future__ import annotations

import json
import os
import random
import secrets
import time
import unittest
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path

import children
from cluster import engines
from cluster.nodes import Cluster, Node
from cluster.postgres_proxy import PostgresProxy
from cluster.s3 import Client
from cluster.s3_proxy import S3Proxy
from torture.program import PATIENCE, Refused, free_port, until


class ServeCase(unittest.TestCase):
    def cluster(self, database: PostgresProxy | None = None, bucket: S3Proxy | None = None) -> Cluster:
        made = Cluster(database=database, bucket=bucket)
        self.addCleanup(made.close)
        return made

    def events(self, node: Node) -> list[dict[str, object]]:
        return [json.loads(line) for line in node.log.read_text().splitlines() if line.startswith("{")]

    def write(self, cluster: Cluster, name: str, size: int) -> Path:
        path = cluster.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(secrets.token_bytes(size))
        return path

    def push(self, cluster: Cluster, node: Node, path: Path, *words: str) -> None:
        cluster.run("push", str(path), "--to", node.address, *words)

    def pulled(self, cluster: Cluster, node: Node, path: str) -> bytes:
        """The content of a file, fetched from a server."""
        target = cluster.folder / f"pulled-{secrets.token_hex(4)}"
        cluster.run("pull", path, "--from", node.address, "-o", str(target))
        return target.read_bytes()

    def refusal(self, node: Node) -> str:
        """Why a server does not start."""
        with self.assertRaises(Refused):
            node.start()
        self.addCleanup(node.abandon)
        return node.log.read_text().splitlines()[-1]


class OneServiceTests(ServeCase):
    def test_what_one_server_acknowledges_another_one_has(self) -> None:
        cluster = self.cluster()
        first, second = cluster.start(), cluster.start()
        small, large = self.write(cluster, "small", 4096), self.write(cluster, "large", 50 << 20)
        self.push(cluster, first, small)
        self.push(cluster, second, large)
        self.assertEqual(self.pulled(cluster, second, "small"), small.read_bytes())
        self.assertEqual(self.pulled(cluster, first, "large"), large.read_bytes())
        # A retry at the other server stores nothing twice.
        self.push(cluster, second, small)
        self.push(cluster, first, large)
        listed = cluster.run("list", "--from", first.address).stdout.decode()
        self.assertEqual(sorted(line.split()[-1] for line in listed.splitlines()), ["large", "small"])

    def test_a_killed_server_costs_nothing(self) -> None:
        cluster = self.cluster()
        first, second = cluster.start(), cluster.start()
        file = self.write(cluster, "photo", 1 << 20)
        self.push(cluster, first, file)
        first.kill()
        self.assertEqual(self.pulled(cluster, second, "photo"), file.read_bytes())
        first.start()
        self.assertEqual(self.pulled(cluster, first, "photo"), file.read_bytes())

    def test_moves_and_removals_are_seen_by_all(self) -> None:
        cluster = self.cluster()
        first, second = cluster.start(), cluster.start()
        self.push(cluster, first, self.write(cluster, "before", 1000))
        cluster.run("move", "before", "after", "--from", second.address)
        listed = cluster.run("list", "--from", first.address).stdout.decode()
        self.assertIn("after", listed)
        cluster.run("remove", "after", "--from", first.address)
        self.assertEqual(cluster.run("list", "--from", second.address).stdout, b"")

    def test_the_log_says_what_the_engines_are(self) -> None:
        node = self.cluster().start()
        events = {event["event"]: event for event in self.events(node)}
        self.assertIn("verifies", str(events["objectStore"]["message"]))
        self.assertNotIn("transfer:", str(events["database"]["address"]))
        self.assertIn("databaseRemark", events)
        self.assertIn("confined", events)

    def test_a_push_survives_the_server_that_takes_it(self) -> None:
        cluster = self.cluster()
        nodes = [cluster.start() for _ in range(3)]
        balancer = cluster.balance(nodes)
        file = self.write(cluster, "big", 256 << 20)
        push = cluster.begin("push", str(file), "--to", balancer, "--trust-new")
        until(lambda: cluster.query("SELECT FROM parts LIMIT 1") != [] or push.poll() is not None, push, "no part arrived")
        for node in nodes[:2]:
            node.kill()
        done = children.finish(push)
        self.assertEqual(done.returncode, 0, done.stderr.decode(errors="replace"))
        self.assertEqual(self.pulled(cluster, nodes[2], "big"), file.read_bytes())

    def test_clients_are_admitted_by_the_database(self) -> None:
        cluster = self.cluster()
        nodes = [cluster.start("--no-open") for _ in range(2)]
        token = cluster.folder / "token"
        made = cluster.run("access", "token", "create", "--name", "camera", "--catalog", cluster.database)
        token.write_bytes(made.stdout)
        token.chmod(0o600)
        stranger = cluster.folder / "stranger"
        stranger.mkdir()
        file = self.write(cluster, "photo", 1000)
        for node in nodes:
            words = ("push", str(file), "--to", node.address, "--trust-new", "--token-file", str(token))
            cluster.run(*words, "--name", f"by-{node.port}", home=stranger)
        cluster.run("access", "token", "revoke", "camera", "--catalog", cluster.database)
        # Servers read the lists again after half a second.
        deadline = time.monotonic() + PATIENCE
        while (done := cluster.run(*words, "--name", "late", home=stranger, expecting=None)).returncode == 0:
            self.assertLess(time.monotonic(), deadline)
        self.assertIn(b"token", done.stderr)

    def test_readiness_follows_both_engines(self) -> None:
        for engine in ("databaseUnavailable", "bucketUnavailable"):
            with self.subTest(engine):
                self._lose(engine)

    def _lose(self, reason: str) -> None:
        settings = engines.postgres()
        host, _, port = urllib.parse.urlsplit(settings["ENGINES_POSTGRES"]).netloc.rpartition("@")[2].partition(":")
        database, bucket = PostgresProxy(host, int(port)), S3Proxy(engines.endpoint("seaweedfs").url)
        lost, other = (database, bucket) if reason == "databaseUnavailable" else (bucket, database)
        self.addCleanup(other.close)
        cluster = self.cluster(database=database, bucket=bucket)
        probes = f"127.0.0.1:{free_port(random.Random())}"
        node = cluster.start("--metrics", probes)
        self.assertEqual(self._ready(probes), [])
        lost.close()
        assert node.process is not None
        until(lambda: self._ready(probes) == [reason], node.process, "the server stays ready")

    def _ready(self, probes: str) -> list[str]:
        """The reasons why a server accepts no uploads."""
        try:
            with urllib.request.urlopen(f"http://{probes}/readyz", timeout=PATIENCE) as answer:
                self.assertEqual(answer.read(), b"ready\n")
                return []
        except urllib.error.HTTPError as error:
            with error:
                return list(json.load(error)["reasons"])


class RestoredTests(ServeCase):
    def test_a_database_of_yesterday_beside_the_objects_of_today(self) -> None:
        cluster = self.cluster()
        node = cluster.start()
        before, after = self.write(cluster, "before", 1 << 20), self.write(cluster, "after", 2 << 20)
        self.push(cluster, node, before)
        node.stop()
        yesterday = cluster.snapshot()
        node.start()
        self.push(cluster, node, after)
        cluster.run("remove", "before", "--from", node.address)
        node.stop()
        restored = cluster.start(TRANSFER_SERVE_CATALOG=yesterday)
        # What was acknowledged after the backup is not known any more, and nothing else is wrong.
        self.assertEqual(self.pulled(cluster, restored, "before"), before.read_bytes())
        cluster.run("pull", "after", "--from", restored.address, "-o", str(cluster.folder / "x"), expecting=1)
        self.push(cluster, restored, after)
        self.assertEqual(self.pulled(cluster, restored, "after"), after.read_bytes())


class RefusalTests(ServeCase):
    def test_a_bucket_that_does_not_exist(self) -> None:
        cluster = self.cluster()
        node = cluster.node(TRANSFER_SERVE_STORE="s3://there-is-no-such-bucket")
        self.assertIn("Create the bucket 'there-is-no-such-bucket'", self.refusal(node))

    def test_a_bucket_of_another_cluster(self) -> None:
        cluster, other = self.cluster(), self.cluster()
        cluster.start()
        node = other.node(TRANSFER_SERVE_STORE=cluster.environment["TRANSFER_SERVE_STORE"])
        self.assertIn("should be that of the cluster", self.refusal(node))

    def test_a_database_of_another_cluster(self) -> None:
        cluster, other = self.cluster(), self.cluster()
        cluster.start()
        other.start()
        node = other.node(TRANSFER_SERVE_CATALOG=cluster.database)
        self.assertIn("The database belongs to the cluster", self.refusal(node))

    def test_an_emptied_bucket(self) -> None:
        cluster = self.cluster()
        cluster.start().stop()
        client = Client(cluster.bucket)
        for key in client.list(cluster.name + "/").keys:
            client.delete(key)
        self.assertIn("its objects were removed", self.refusal(cluster.node()))

    def test_another_identity(self) -> None:
        cluster = self.cluster()
        cluster.start()
        missing = cluster.node(TRANSFER_SERVE_IDENTITY=str(cluster.folder / "other.pem"))
        self.assertIn("Copy it from another server", self.refusal(missing))
        self.assertFalse((cluster.folder / "other.pem").exists())

    def test_a_folder_that_another_server_uses(self) -> None:
        cluster = self.cluster()
        used = cluster.start()
        node = cluster.node("--scratch", str(used.scratch))
        self.assertIn("Name another folder with --scratch", self.refusal(node))

    def test_wrong_keys(self) -> None:
        cluster = self.cluster()
        node = cluster.node(AWS_SECRET_ACCESS_KEY="wrong")
        self.assertIn("Check the access key", self.refusal(node))

    def test_a_database_that_is_away(self) -> None:
        cluster = self.cluster()
        node = cluster.node(TRANSFER_SERVE_CATALOG="postgres://transfer:secret@127.0.0.1:1/transfer?connect_timeout=1")
        words = self.refusal(node)
        self.assertIn("127.0.0.1:1", words)
        self.assertNotIn("secret", words)

    def test_flags_that_belong_together(self) -> None:
        cluster = self.cluster()
        done = cluster.run("serve", "--store", "s3://bucket", "--catalog", "postgres://h/d", expecting=2)
        self.assertIn(b"--store needs --identity", done.stderr)
        done = cluster.run("serve", "--scratch", "x", expecting=2)
        self.assertIn(b"'--scratch' needs --store", done.stderr)
        self.assertFalse(os.path.exists(cluster.folder / "x"))


class StatusTests(ServeCase):
    def test_all_servers_are_shown(self) -> None:
        cluster = self.cluster()
        nodes = [cluster.start() for _ in range(2)]
        self.push(cluster, nodes[0], self.write(cluster, "photo", 5000))
        words = ("status", "--cluster", "--catalog", cluster.database)
        report = json.loads(cluster.run(*words, "--json").stdout)
        self.assertEqual(len(report["servers"]), 2)
        self.assertEqual((report["objects"]["count"], report["objects"]["live"]), (1, 5000))
        self.assertEqual((report["epochs"]["open"], report["unfinished"]["count"]), (1, 0))
        self.assertIn(cluster.name, report["bucket"])
        text = cluster.run(*words).stdout.decode()
        for server in report["servers"]:
            self.assertIn(server["name"], text)
        nodes[1].stop()
        self.assertEqual(len(json.loads(cluster.run(*words, "--json").stdout)["servers"]), 1)

    def test_a_database_without_a_cluster(self) -> None:
        cluster = self.cluster()
        done = cluster.run("status", "--catalog", cluster.database, expecting=3)
        self.assertIn(b"No server of a cluster has used this database", done.stderr)
        self.assertEqual(cluster.query("SELECT FROM pg_namespace WHERE nspname = 'transfer'"), [])
        cluster.run("status", "--cluster", expecting=2)
