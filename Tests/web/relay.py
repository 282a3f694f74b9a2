"""A relay to the server that cuts connections."""

from __future__ import annotations

import socket
import threading

from .wire import PATIENCE


class Relay:
    """Passes bytes on to a port of this machine. Cuts each of the first connections after a number of bytes to the
    server."""

    def __init__(self, port: int, limits: list[int]) -> None:
        self._target = port
        self._limits = list(limits)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self.cuts = 0
        self._is_down = False
        self._flows = threading.Event()
        self._flows.set()
        self._passed = 0
        self._changed = threading.Condition()
        self._open: list[socket.socket] = []
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def passed(self) -> int:
        """Number of bytes passed to the server so far."""
        return self._passed

    def until(self, count: int) -> None:
        """Waits until that many bytes have gone to the server."""
        with self._changed:
            if not self._changed.wait_for(lambda: self._passed >= count, PATIENCE):
                raise AssertionError(f"{self._passed} bytes have gone to the server, not {count}")

    def go_down(self) -> None:
        """Cuts the open connections, and each new one until `come_back`."""
        self._is_down = True
        self._cut_all()

    def come_back(self) -> None:
        self._is_down = False
        self._flows = threading.Event()
        self._flows.set()

    def hold(self) -> None:
        """Passes nothing on until `release`, whatever is opened or closed meanwhile. What is held back may then arrive after what
        was sent later."""
        self._flows.clear()

    def release(self) -> None:
        self._flows.set()

    def close(self) -> None:
        """Accepts no more connections, and cuts the open ones."""
        self.release()
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._cut_all()

    def _cut_all(self) -> None:
        for stream in list(self._open):
            _end(stream)

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            if self._is_down:
                client.close()
                continue
            limit = self._limits.pop(0) if self._limits else None
            try:
                server = socket.create_connection(("127.0.0.1", self._target))
            except OSError:
                # The server is being restarted.
                client.close()
                continue
            self._open += [client, server]
            threading.Thread(target=self._pass, args=(client, server, limit, True), daemon=True).start()
            threading.Thread(target=self._pass, args=(server, client, None, False), daemon=True).start()

    def _pass(self, one: socket.socket, other: socket.socket, limit: int | None, counts: bool) -> None:
        passed = 0
        try:
            while data := one.recv(1 << 14):
                self._flows.wait()
                other.sendall(data)
                passed += len(data)
                self._count(len(data) if counts else 0)
                if limit is not None and passed >= limit:
                    self.cuts += 1
                    break
        except OSError:
            pass
        _end(one)
        _end(other)

    def _count(self, count: int) -> None:
        with self._changed:
            self._passed += count
            self._changed.notify_all()


def _end(stream: socket.socket) -> None:
    try:
        stream.shutdown(socket.SHUT_RDWR)
    except OSError:
        pass
    stream.close()
