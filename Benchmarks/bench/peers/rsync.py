"""rsync to its daemon, without a shell and encryption in between."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from .base import Peer, Place, is_root


class Rsync(Peer):
    """`rsync -a -W`, with further options if given."""

    def __init__(self, place: Place, options: Sequence[str] = ()) -> None:
        super().__init__(place)
        self._options = options
        self.name = " ".join(["rsync daemon", *options])
        self.promise = "verified, synced" if "--fsync" in options else "verified"

    def prepare(self) -> None:
        host, self._port = self.place.route.host, self.place.route.free_port()
        self._url = f"rsync://{host}:{self._port}/target/"
        user = "uid = root\ngid = root\n" if is_root() else ""
        configuration = self.place.directory("rsync") / f"{self._port}.conf"
        configuration.write_text(f"use chroot = no\n{user}[target]\npath = {self.place.target}\nread only = no\n")
        listen = [f"--address={host}", f"--port={self._port}"]
        daemon = self.serve(["rsync", "--daemon", "--no-detach", f"--config={configuration}", *listen])
        daemon.wait_until_listening(self._port)

    def push(self) -> None:
        self._copy(f"{self.place.corpus.root}/", self._url)

    def pull(self, output: Path) -> None:
        """Fetches all pushed files into a directory."""
        self._copy(self._url, f"{output}/")

    def _copy(self, source: str, destination: str) -> None:
        self.run(["rsync", "-a", "-W", *self._options, source, destination])
