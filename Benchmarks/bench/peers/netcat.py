"""nc: only the bytes of the files, in the format of tar if there are many files."""

from __future__ import annotations

from ..processes import Process
from .base import LOOPBACK, Peer, Place


class Netcat(Peer):
    """`nc -N < file`, or `tar c | nc -N` to `nc -l | tar x`."""

    promise = "nothing"
    _server: Process

    def __init__(self, place: Place) -> None:
        super().__init__(place)
        self._is_single = place.corpus.count == 1
        self.name = "nc" if self._is_single else "nc with tar"

    def arm(self) -> None:
        self._port = self.place.route.free_port()
        listen = ["nc", "-l", LOOPBACK, str(self._port)]
        processes, target = self.place.processes, self.place.target
        if self._is_single:
            with (target / self.place.corpus.files[0].name).open("wb") as file:
                self._server = processes.start(listen, stdout=file)
        else:
            self._server = processes.start(["sh", "-c", '"$@" | tar xf - -C "$0"', str(target), *listen])
        self._server.wait_until_listening(self._port)

    def push(self) -> None:
        send = ["nc", "-N", LOOPBACK, str(self._port)]
        if self._is_single:
            with self.place.corpus.files[0].open("rb") as file:
                self.place.processes.run(send, stdin=file)
        else:
            self.place.processes.run(["sh", "-c", 'tar cf - -C "$0" . | "$@"', str(self.place.corpus.root), *send])
        # The client ends when it has passed on its last bytes. They have arrived when the server ends.
        self._server.finish()

    def disarm(self) -> None:
        self.place.processes.stop(self._server)
