"""transfer catalog rebuild and transfer verify of a cluster, over PostgreSQL and SeaweedFS."""

from __future__ import annotations

import json
import secrets
import unittest
from pathlib import Path

from cluster.nodes import Cluster, Node
from cluster.s3 import Client
from torture.program import Refused

# The exit code of a command that cannot do its work.
FAULT = 5
LOST = ("mail", "receipts", "links", "empty folders", "access lists")


class CatalogCase(unittest.TestCase):
    def cluster(self) -> Cluster:
        made = Cluster()
        self.addCleanup(made.close)
        return made

    def place(self, cluster: Cluster, database: str | None = None) -> list[str]:
        """The flags that name the bucket and the database."""
        words = ["--store", cluster.environment["TRANSFER_SERVE_STORE"]]
        words += ["--store-endpoint", cluster.environment["TRANSFER_SERVE_STORE_ENDPOINT"]]
        return [*words, "--catalog", database or cluster.database]

    def run_with_keys(self, cluster: Cluster, *words: str, expecting: int = 0) -> tuple[str, str]:
        """Runs a command that reads the bucket. Returns standard output and standard error."""
        done = cluster.run(*words, expecting=expecting, variables=cluster.environment)
        return done.stdout.decode(), done.stderr.decode()

    def fill(self, cluster: Cluster, node: Node) -> dict[str, bytes]:
        """Pushes a folder with small files and a long one. Returns the contents by path."""
        folder = cluster.folder / "in"
        sizes = [0, 1, 300, 5000, 70_000, 3 << 20, 40 << 20]
        contents = {f"in/d{number % 3}/{number}": secrets.token_bytes(size) for number, size in enumerate(sizes * 3)}
        for path, content in contents.items():
            file = cluster.folder / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content)
        cluster.run("push", str(folder), "--to", node.address)
        return contents

    def pulled(self, cluster: Cluster, node: Node) -> dict[str, bytes]:
        target = cluster.folder / f"out-{secrets.token_hex(4)}"
        target.mkdir()
        cluster.run("pull", "in", "--from", node.address, "-o", str(target))
        return {str(Path("in") / path.relative_to(target / "in")): path.read_bytes() for path in target.rglob("*") if path.is_file()}


class RebuildTests(CatalogCase):
    def test_a_lost_database_is_made_again(self) -> None:
        cluster = self.cluster()
        node = cluster.start()
        contents = self.fill(cluster, node)
        node.stop()
        new = cluster.new_database()
        # A server does not take the empty database for a new cluster, and says what to do.
        refused = cluster.node(TRANSFER_SERVE_CATALOG=new)
        with self.assertRaises(Refused):
            refused.start()
        refused.abandon()
        self.assertIn("transfer catalog rebuild", refused.log.read_text())
        output, _ = self.run_with_keys(cluster, "catalog", "rebuild", *self.place(cluster, new), "--json")
        summary = json.loads(output.splitlines()[-1])
        self.assertEqual((summary["files"], summary["refused"], summary["unknown"]), (len(contents), 0, 0))
        self.assertEqual(summary["bytes"], sum(map(len, contents.values())))
        restored = cluster.start(TRANSFER_SERVE_CATALOG=new)
        self.assertEqual(self.pulled(cluster, restored), contents)
        # The same push finds everything stored.
        pushed = cluster.run("push", str(cluster.folder / "in"), "--to", restored.address, "--json").stdout
        self.assertEqual({json.loads(line)["result"] for line in pushed.splitlines()}, {"alreadyStored"})
        restored.stop()
        # A database with files is not filled, and says so.
        _, words = self.run_with_keys(cluster, "catalog", "rebuild", *self.place(cluster, new), expecting=FAULT)
        self.assertIn("only rebuilt into an empty one", words)

    def test_an_interrupted_rebuild_begins_again(self) -> None:
        cluster = self.cluster()
        node = cluster.start()
        contents = self.fill(cluster, node)
        node.stop()
        new = cluster.new_database()
        self.run_with_keys(cluster, "catalog", "rebuild", *self.place(cluster, new), "--quiet")
        # What a rebuild that was killed before its end leaves.
        cluster.query("UPDATE transfer.lists SET content = 'begun' WHERE name = 'rebuild'", database=new)
        cluster.query("DELETE FROM transfer.nodes WHERE number % 2 = 0", database=new)
        refused = cluster.node(TRANSFER_SERVE_CATALOG=new)
        with self.assertRaises(Refused):
            refused.start()
        refused.abandon()
        self.assertIn("has not ended", refused.log.read_text())
        output, _ = self.run_with_keys(cluster, "catalog", "rebuild", *self.place(cluster, new))
        self.assertIn(f"stored {len(contents)} files", output)
        for lost in LOST:
            self.assertIn(lost, output)
        self.assertEqual(self.pulled(cluster, cluster.start(TRANSFER_SERVE_CATALOG=new)), contents)

    def test_wrong_places_are_refused(self) -> None:
        cluster, other = self.cluster(), self.cluster()
        node = cluster.start()
        other.start().stop()
        _, words = self.run_with_keys(cluster, "catalog", "rebuild", *self.place(cluster), expecting=FAULT)
        self.assertIn("Servers use the database", words)
        node.stop()
        _, words = self.run_with_keys(cluster, "catalog", "rebuild", *self.place(cluster, other.database), expecting=FAULT)
        self.assertIn("belongs to the cluster", words)
        unmarked = self.cluster()
        _, words = self.run_with_keys(unmarked, "catalog", "rebuild", *self.place(unmarked), expecting=FAULT)
        self.assertIn("no object 'cluster-id'", words)
        self.assertEqual(unmarked.query("SELECT FROM pg_namespace WHERE nspname = 'transfer'"), [])
        cluster.run("catalog", "rebuild", expecting=2)


class VerifyTests(CatalogCase):
    def test_damage_is_named_and_healed(self) -> None:
        cluster = self.cluster()
        node = cluster.start()
        contents = self.fill(cluster, node)
        place = self.place(cluster)
        output, _ = self.run_with_keys(cluster, "verify", *place)
        self.assertIn(f"intact: {len(contents)} files", output)
        damaged = {"in/d0/3", "in/d2/5"}
        for path in damaged:
            self._damage(cluster, contents[path])
        output, _ = self.run_with_keys(cluster, "verify", *place, "--json", expecting=1)
        found = [json.loads(line) for line in output.splitlines()]
        self.assertEqual({line["path"]: line["finding"] for line in found[:-1]}, dict.fromkeys(damaged, "rotten"))
        self.assertEqual((found[-1]["intact"], found[-1]["rotten"]), (len(contents) - 2, 2))
        # A damaged file is not answered as stored: it is sent again, and replaced.
        for path in damaged:
            cluster.run("pull", path, "--from", node.address, "-o", str(cluster.folder / "x"), expecting=1)
        pushed = cluster.run("push", str(cluster.folder / "in"), "--to", node.address, "--json").stdout
        states = {line["storedPath"]: line["result"] for line in map(json.loads, pushed.splitlines())}
        self.assertEqual({path for path, state in states.items() if state != "alreadyStored"}, damaged)
        self.run_with_keys(cluster, "verify", *place, "--quiet")
        self.assertEqual(self.pulled(cluster, node), contents)

    def _damage(self, cluster: Cluster, content: bytes) -> None:
        """Changes one byte of a content where an object of the bucket has it."""
        client = Client(cluster.bucket)
        for key in client.list(cluster.name + "/").keys:
            body = client.get(key).content
            start = body.find(content[:64])
            if start >= 0:
                client.put(key, body[: start + 9] + bytes([body[start + 9] ^ 1]) + body[start + 10 :])
                return
        self.fail("no object has the content")

    def test_places_that_do_not_belong_together(self) -> None:
        cluster, other = self.cluster(), self.cluster()
        cluster.start().stop()
        other.start().stop()
        _, words = self.run_with_keys(cluster, "verify", *self.place(cluster, other.database), expecting=FAULT)
        self.assertIn("Correct one of the addresses", words)
        cluster.run("verify", "--catalog", cluster.database, expecting=2)
        cluster.run("verify", *self.place(cluster), "--dir", "x", expecting=2)


if __name__ == "__main__":
    unittest.main()
