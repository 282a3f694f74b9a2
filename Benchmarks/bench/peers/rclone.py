"""rclone to its own WebDAV server, in plaintext."""

from __future__ import annotations

import shutil

from .base import Peer, Place


class Rclone(Peer):
    """`rclone copy`, with `at_once` files at a time."""

    promise = "nothing"

    def __init__(self, place: Place, at_once: int) -> None:
        super().__init__(place)
        self._at_once = at_once
        self.name = f"rclone webdav ({at_once} at once)"

    @staticmethod
    def is_there() -> bool:
        """Whether rclone is installed. The benchmarks do not install it, because nothing else needs it."""
        return shutil.which("rclone") is not None

    def prepare(self) -> None:
        host, port = self.place.route.host, self.place.route.free_port()
        home = str(self.place.directory("rclone"))
        self._environment = {"HOME": home, "XDG_CONFIG_HOME": home, "XDG_CACHE_HOME": home}
        self._remote = f":webdav,url='http://{host}:{port}':"
        address = ["--addr", f"{host}:{port}"]
        server = self.serve(["rclone", "serve", "webdav", str(self.place.target), *address], self._environment)
        server.wait_until_listening(port)

    def push(self) -> None:
        files = ["--transfers", str(self._at_once), str(self.place.corpus.root), self._remote]
        self.run(["rclone", "copy", *files], self._environment)
