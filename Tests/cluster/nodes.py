"""Servers of one cluster, over engines that run, and clients of them."""

from __future__ import annotations

import os
import random
import secrets
import shutil
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import children
from torture.program import Server, free_port

from . import engines
from .postgres import Session
from .s3 import Endpoint

PROJECT = Path(__file__).resolve().parents[2]


def binary() -> Path:
    """The program under test."""
    return Path(os.environ.get("TRANSFER_BINARY", PROJECT / ".build/debug/transfer"))


class Node(Server):
    """One server of a cluster."""

    def __init__(self, cluster: Cluster, number: int, words: Sequence[str], changed: Mapping[str, str]) -> None:
        self.scratch = cluster.folder / f"scratch-{number}"
        super().__init__(binary(), self.scratch, cluster.folder / f"log-{number}", free_port(random.Random()))
        variables = [f"{name}={value}" for name, value in (cluster.environment | changed).items()]
        self.command = ["env", *variables, str(binary()), "serve", "--listen", f"127.0.0.1:{self.port}"]
        self.command += ["--scratch", str(self.scratch), "--log-format", "json", "--open", *words]


class Cluster:
    """A database, a prefix of a bucket, and the servers that use both. All of it is removed by `close`."""

    def __init__(self, engine: str = "seaweedfs", bucket: Endpoint | None = None, database: str | None = None) -> None:
        """`bucket` and `database` are proxies in front of the engines."""
        settings = engines.postgres()
        self.bucket = engines.endpoint(engine)
        self.folder = Path(tempfile.mkdtemp(prefix="transfer-cluster-"))
        self.name = f"test_{secrets.token_hex(8)}"
        self._admin = settings["ENGINES_POSTGRES_ADMIN"]
        self._owner = settings["ENGINES_POSTGRES"]
        self._rule(f"CREATE DATABASE {self.name} OWNER transfer")
        self.database = database or self._owner.rpartition("/")[0] + "/" + self.name
        self._nodes: list[Node] = []
        used = bucket or self.bucket
        self.environment = {
            "HOME": str(self.folder),
            "AWS_ACCESS_KEY_ID": used.key,
            "AWS_SECRET_ACCESS_KEY": used.secret,
            "TRANSFER_SERVE_STORE": f"s3://{used.bucket}/{self.name}",
            "TRANSFER_SERVE_STORE_ENDPOINT": used.url,
            "TRANSFER_SERVE_CATALOG": self.database,
            "TRANSFER_SERVE_IDENTITY": str(self.folder / "identity.pem"),
        }

    def _rule(self, statement: str) -> None:
        with Session(self._admin) as session:
            session.query(statement)

    def query(self, statement: str) -> list[list[bytes | None]]:
        """Rows of the cluster's database."""
        with Session(self._owner.rpartition("/")[0] + "/" + self.name) as session:
            return session.query(statement).rows

    def node(self, *words: str, **changed: str) -> Node:
        """Makes a server, which is not started. `changed` are variables of its environment."""
        made = Node(self, len(self._nodes) + 1, words, changed)
        self._nodes.append(made)
        return made

    def start(self, *words: str, **changed: str) -> Node:
        made = self.node(*words, **changed)
        made.start()
        return made

    def run(self, *words: str, expecting: int | None = 0) -> subprocess.CompletedProcess[bytes]:
        """Runs a command of the program as a client."""
        done = children.finish(self.begin(*words))
        if expecting is not None and done.returncode != expecting:
            raise AssertionError(f"{words} ended with {done.returncode}:\n{done.stderr.decode(errors='replace')}")
        return done

    def begin(self, *words: str) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [str(binary()), *words],
            env=os.environ | {"HOME": str(self.folder)},
            cwd=self.folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )

    def close(self) -> None:
        for node in self._nodes:
            node.abandon()
        self._rule(f"DROP DATABASE IF EXISTS {self.name} WITH (FORCE)")
        shutil.rmtree(self.folder, ignore_errors=True)
