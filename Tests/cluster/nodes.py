"""Servers of one cluster, over engines that run, and clients of them."""

from __future__ import annotations

import os
import random
import secrets
import shutil
import socket
import subprocess
import tempfile
import unittest
from collections.abc import Mapping, Sequence
from pathlib import Path

import children
from torture.program import Server, free_port, until

from . import engines
from .postgres import Session
from .postgres_proxy import PostgresProxy
from .s3_proxy import S3Proxy

PROJECT = Path(__file__).resolve().parents[2]


def binary() -> Path:
    """The program under test."""
    return Path(os.environ.get("TRANSFER_BINARY", PROJECT / ".build/debug/transfer"))


class Node(Server):
    """One server of a cluster."""

    def __init__(self, cluster: Cluster, number: int, words: Sequence[str], changed: Mapping[str, str]) -> None:
        self.scratch = cluster.folder / f"scratch-{number}"
        super().__init__(cluster.binary, self.scratch, cluster.folder / f"log-{number}", free_port(random.Random()))
        variables = [f"{name}={value}" for name, value in (cluster.environment | changed).items()]
        self.command = ["env", *variables, str(cluster.binary), "serve", "--listen", f"127.0.0.1:{self.port}"]
        self.command += ["--scratch", str(self.scratch), "--log-format", "json", "--open", *words]

    @property
    def process(self) -> subprocess.Popen[bytes] | None:
        return self._process


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


class Cluster:
    """A database, a prefix of a bucket, and the servers that use both. All of it is removed by `close`, but a folder that the
    caller has named."""

    def __init__(
        self,
        engine: str = "seaweedfs",
        bucket: S3Proxy | None = None,
        database: PostgresProxy | None = None,
        settings: Mapping[str, str] | None = None,
        folder: Path | None = None,
        program: Path | None = None,
    ) -> None:
        """`bucket` and `database` are proxies in front of the engines, through which the servers reach them. `settings` are those
        of engines that other tests do not share, `folder` is for what the servers write, and `program` is the program under
        test."""
        self.bucket = engines.endpoint(engine, settings)
        self.binary = program or binary()
        self._keeps_folder = folder is not None
        self.folder = folder or Path(tempfile.mkdtemp(prefix="transfer-cluster-"))
        self.name = f"test_{secrets.token_hex(8)}"
        self.find(settings or engines.postgres())
        self._rule(f"CREATE DATABASE {self.name} OWNER transfer")
        self.database = self.address
        self._nodes: list[Node] = []
        self._copies: list[str] = []
        self._balancers: list[subprocess.Popen[bytes]] = []
        used = self.bucket.at(bucket.url) if bucket else self.bucket
        if database:
            self.database = f"{self.database.rpartition('@')[0]}@127.0.0.1:{database.port}/{self.name}"
        self.environment = {
            "HOME": str(self.folder),
            "AWS_ACCESS_KEY_ID": used.key,
            "AWS_SECRET_ACCESS_KEY": used.secret,
            "TRANSFER_SERVE_STORE": f"s3://{used.bucket}/{self.name}",
            "TRANSFER_SERVE_STORE_ENDPOINT": used.url,
            "TRANSFER_SERVE_CATALOG": self.database,
            "TRANSFER_SERVE_IDENTITY": str(self.folder / "identity.pem"),
        }

    def find(self, settings: Mapping[str, str]) -> None:
        """Takes the address of the database, which is another one after a promotion."""
        self._admin = settings["ENGINES_POSTGRES_ADMIN"]
        self._owner = settings["ENGINES_POSTGRES"]

    def _rule(self, statement: str) -> None:
        with Session(self._admin) as session:
            session.query(statement)

    @property
    def address(self) -> str:
        """The address of the cluster's database, without a proxy."""
        return self._owner.rpartition("/")[0] + "/" + self.name

    def query(self, statement: str, database: str | None = None) -> list[list[bytes | None]]:
        """Rows of the cluster's database, or of another one."""
        with Session(database or self.address) as session:
            return session.query(statement).rows

    def node(self, *words: str, **changed: str) -> Node:
        """Makes a server, which is not started. `changed` are variables of the environment."""
        made = Node(self, len(self._nodes) + 1, words, changed)
        self._nodes.append(made)
        return made

    def start(self, *words: str, **changed: str) -> Node:
        made = self.node(*words, **changed)
        made.start()
        return made

    def balance(self, nodes: Sequence[Node]) -> str:
        """Starts haproxy in front of servers. Raises SkipTest if it is not installed."""
        if shutil.which("haproxy") is None:
            raise unittest.SkipTest("haproxy is not installed (scripts/bootstrap.sh --http)")
        port = free_port(random.Random())
        servers = [f"    server node-{node.port} {node.address} check inter 200" for node in nodes]
        lines = ["defaults", "    mode tcp", "    option redispatch 1", "    retries 3"]
        lines += [f"    timeout {kind} 1h" for kind in ("client", "server")] + ["    timeout connect 5s"]
        lines += ["listen transfer", f"    bind 127.0.0.1:{port}", "    balance roundrobin", *servers]
        settings = self.folder / f"haproxy-{port}.cfg"
        settings.write_text("\n".join(lines) + "\n")
        log = (self.folder / f"haproxy-{port}.log").open("wb")
        with log:
            process = subprocess.Popen(["haproxy", "-db", "-f", str(settings)], stdout=log, stderr=log)
        self._balancers.append(process)
        until(lambda: _listens(port), process, "haproxy does not listen")
        return f"127.0.0.1:{port}"

    def run(
        self,
        *words: str,
        expecting: int | None = 0,
        home: Path | None = None,
        variables: Mapping[str, str] | None = None,
    ) -> subprocess.CompletedProcess[bytes]:
        """Runs a command of the program as a client. `variables` are added to the environment."""
        done = children.finish(self.begin(*words, home=home, variables=variables))
        if expecting is not None and done.returncode != expecting:
            raise AssertionError(f"{words} ended with {done.returncode}:\n{done.stderr.decode(errors='replace')}")
        return done

    def begin(
        self, *words: str, home: Path | None = None, variables: Mapping[str, str] | None = None
    ) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [str(self.binary), *words],
            env=os.environ | {"HOME": str(home or self.folder)} | dict(variables or {}),
            cwd=self.folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )

    def snapshot(self) -> str:
        """Copies the database, to which no server may be connected, as a backup. Returns the address of the copy."""
        return self.new_database(self.name)

    def new_database(self, template: str = "template1") -> str:
        """Makes another database. Returns its address."""
        name = f"{self.name}_{len(self._copies)}"
        self._rule(f"CREATE DATABASE {name} TEMPLATE {template} OWNER transfer")
        self._copies.append(name)
        return self._owner.rpartition("/")[0] + "/" + name

    def close(self) -> None:
        for node in self._nodes:
            node.abandon()
        for balancer in self._balancers:
            balancer.kill()
            balancer.wait()
        for name in (self.name, *self._copies):
            self._rule(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")
        if not self._keeps_folder:
            shutil.rmtree(self.folder, ignore_errors=True)
