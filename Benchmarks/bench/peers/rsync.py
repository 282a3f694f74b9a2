"""rsync to its daemon: no shell and no encryption in between."""

from __future__ import annotations

from collections.abc import Sequence

from .base import LOOPBACK, Peer, Place, free_port, is_root


class Rsync(Peer):
    """`rsync -a -W`, with more options if that is asked for."""

    def __init__(self, place: Place, options: Sequence[str] = ()) -> None:
        super().__init__(place)
        self._options = options
        self.name = " ".join(["rsync daemon", *options])
        self.promise = "verified, synced" if "--fsync" in options else "verified"

    def prepare(self) -> None:
        self._port = free_port()
        user = "uid = root\ngid = root\n" if is_root() else ""
        configuration = self.place.directory("rsync") / f"{self._port}.conf"
        configuration.write_text(f"use chroot = no\n{user}[target]\npath = {self.place.target}\nread only = no\n")
        daemon = self.place.processes.start(
            ["rsync", "--daemon", "--no-detach", f"--config={configuration}", f"--address={LOOPBACK}"]
            + [f"--port={self._port}"]
        )
        daemon.wait_until_listening(self._port)

    def push(self) -> None:
        destination = f"rsync://{LOOPBACK}:{self._port}/target/"
        self.place.processes.run(["rsync", "-a", "-W", *self._options, f"{self.place.corpus.root}/", destination])
