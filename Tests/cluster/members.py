"""The servers of a tortured cluster, each with its proxies, its names and its clock."""

from __future__ import annotations

import os
import shutil
import subprocess
import threading
import time
import urllib.parse
from collections.abc import Mapping
from pathlib import Path

from torture.program import PATIENCE, Broken, Refused

from .nodes import Cluster, Node
from .postgres_proxy import PostgresProxy
from .s3_proxy import S3Proxy

# Names of the engines, which only the servers know.
_BUCKET, _DATABASE = "bucket.torture", "database.torture"

_CLOCK = Path(__file__).with_name("clock.c")

# Seconds between two attempts to start a server whose engines are away, as a supervisor has them.
_PAUSE = 0.2

# Runs a command with another /etc/hosts than the machine's.
_WITH_HOSTS = ["unshare", "--mount", "--propagation", "private", "sh", "-c", 'mount --bind "$0" /etc/hosts && exec "$@"']


def make_clock(folder: Path) -> Path | None:
    """Builds the library that moves the clock of a process. Returns None without a compiler."""
    compiler = next((name for name in ("cc", "gcc", "clang") if shutil.which(name)), None)
    if compiler is None:
        return None
    library = folder / "clock.so"
    subprocess.run([compiler, "-shared", "-fPIC", "-O1", "-o", str(library), str(_CLOCK)], check=True)
    return library


class Member:
    """One server. It reaches the bucket and both servers of the database through proxies, by names."""

    def __init__(self, cluster: Cluster, settings: Mapping[str, str], number: int, clock: Path | None) -> None:
        parts = urllib.parse.urlsplit(settings["ENGINES_POSTGRES_ALL"])
        login, _, hosts = parts.netloc.rpartition("@")
        self.bucket = S3Proxy(settings["ENGINES_SEAWEEDFS"], number)
        self.databases = [PostgresProxy("127.0.0.1", int(host.rpartition(":")[2]), number) for host in hosts.split(",")]
        self._hosts = cluster.folder / f"hosts-{number}"
        self._has_names = os.geteuid() == 0 and shutil.which("unshare") is not None
        self.name(True)
        bucket, database = (_BUCKET, _DATABASE) if self._has_names else ("127.0.0.1", "127.0.0.1")
        places = ",".join(f"{database}:{proxy.port}" for proxy in self.databases)
        self.node: Node = cluster.node(
            TRANSFER_SERVE_STORE_ENDPOINT=f"http://{bucket}:{self.bucket.url.rpartition(':')[2]}",
            TRANSFER_SERVE_CATALOG=f"postgres://{login}@{places}/{cluster.name}",
        )
        self._command = self.node.command
        self._clock = clock
        self._pause = threading.Event()
        self.set_clock(0)

    def set_clock(self, seconds: int) -> None:
        """Sets by how much the clock of the server is wrong after its next start."""
        command = list(self._command)
        if seconds and self._clock:
            command[1:1] = [f"LD_PRELOAD={self._clock}", f"TORTURE_CLOCK={seconds}"]
        self.node.command = [*_WITH_HOSTS, str(self._hosts), *command] if self._has_names else command

    def name(self, known: bool) -> None:
        """Sets whether the names of the engines are known. Cuts the connections, so that the names are looked up again."""
        lines = ["127.0.0.1 localhost", *(f"127.0.0.1 {name}" for name in (_BUCKET, _DATABASE) if known)]
        # The file stays the same one, because it is mounted.
        self._hosts.write_text("\n".join(lines) + "\n")
        self._hosts.chmod(0o644)
        if not known:
            self.cut()

    def cut(self) -> None:
        """Cuts all connections with the engines."""
        self.bucket.cut_all()
        for proxy in self.databases:
            proxy.cut_all()

    def calm(self) -> None:
        """Ends the faults of the proxies."""
        for faults in (self.bucket.faults, *(proxy.faults for proxy in self.databases)):
            faults.clear()
        for proxy in self.databases:
            proxy.release()

    def start(self) -> None:
        """Starts the server, again and again while its engines do not answer. Raises Broken if it never starts."""
        deadline = time.monotonic() + PATIENCE
        while True:
            try:
                self.node.start()
                return
            except Refused:
                self.node.abandon()
                if time.monotonic() > deadline:
                    raise Broken(f"the server does not start: {self.last_words}") from None
                self._pause.wait(_PAUSE)

    @property
    def last_words(self) -> str:
        return self.node.log.read_text(errors="replace")[-500:]

    def close(self) -> None:
        self.node.abandon()
        self.bucket.close()
        for proxy in self.databases:
            proxy.close()
