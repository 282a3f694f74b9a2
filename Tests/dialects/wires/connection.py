"""A TCP connection, the base of all clients."""

from __future__ import annotations

import socket
import struct
from types import TracebackType
from typing import TypeVar

from .cuts import Cut, whole

# Seconds that a server may take for an answer, also a debug build on a busy machine.
PATIENCE = 180.0

_READ = 1 << 16
# Enabled with zero seconds: close sends a reset (socket(7)).
_RESET = struct.pack("ii", 1, 0)


_Client = TypeVar("_Client", bound="Connection")


class Ended(EOFError):
    """The server has closed the connection too early; the message has the bytes read so far."""


class Connection:
    """Reads exact counts of bytes, and writes in any pieces."""

    def __init__(self, stream: socket.socket) -> None:
        stream.settimeout(PATIENCE)
        self._stream = stream

    @classmethod
    def to(cls: type[_Client], port: int) -> _Client:
        """Connects to a port of this machine."""
        stream = socket.create_connection(("127.0.0.1", port), PATIENCE)
        # Pieces are sent as they are written.
        stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return cls(stream)

    def __enter__(self: _Client) -> _Client:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def fileno(self) -> int:
        """Lets select(2) wait for the connection."""
        return self._stream.fileno()

    def send(self, data: bytes, cut: Cut = whole) -> None:
        for piece in cut(data):
            self._stream.sendall(piece)

    def send_what_is_taken(self, data: bytes, cut: Cut = whole) -> None:
        """Sends to a peer that may close the connection before it has read everything."""
        try:
            self.send(data, cut)
        except (BrokenPipeError, ConnectionResetError):
            return

    def finish(self) -> None:
        """Ends sending; reading is still possible."""
        self._stream.shutdown(socket.SHUT_WR)

    def read(self, count: int) -> bytes:
        """Reads exactly that many bytes. Raises Ended if the connection ends before."""
        data = bytearray()
        while len(data) < count:
            piece = self._stream.recv(count - len(data))
            if not piece:
                raise Ended(f"{len(data)} of {count} bytes came: {bytes(data).hex(' ')}")
            data += piece
        return bytes(data)

    def rest(self) -> bytes:
        """All bytes until the other side closes the connection. A reset also ends the bytes; those read before count.
        """
        data = bytearray()
        try:
            while piece := self._stream.recv(_READ):
                data += piece
        except ConnectionResetError:
            pass
        return bytes(data)

    def reset(self) -> None:
        """Resets the connection, like a process that is killed with unread bytes."""
        self._stream.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
        self._stream.close()

    def close(self) -> None:
        self._stream.close()
