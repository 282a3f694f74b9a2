"""A small client for PostgreSQL, for tests in which the order of messages matters. The protocol is version 3.0 (PostgreSQL's
manual, chapter "Frontend/Backend Protocol")."""

from __future__ import annotations

import base64
import hashlib
import hmac
import os
import socket
import struct
import urllib.parse
from dataclasses import dataclass, field

# Seconds to wait for a message; it only ends waits that would last forever.
PATIENCE = 180.0

# Types of messages, from the manual.
READY, ERROR, NOTICE, COMPLETE, ROW, AUTHENTICATION = b"Z", b"E", b"N", b"C", b"D", b"R"
_SCRAM = "SCRAM-SHA-256"


class Failed(Exception):
    """The server has refused a statement or the connection. The code is its SQLSTATE."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code


class Lost(Exception):
    """The connection ended before an answer was complete."""


@dataclass
class Results:
    """What the server answered up to the next ReadyForQuery."""

    rows: list[list[bytes | None]] = field(default_factory=list)
    tags: list[str] = field(default_factory=list)
    notices: list[str] = field(default_factory=list)
    error: Failed | None = None


def message(kind: bytes, content: bytes = b"") -> bytes:
    """A message with its length; without a type for the first one of a connection."""
    return kind + struct.pack("!I", len(content) + 4) + content


def text(value: str) -> bytes:
    return value.encode() + b"\0"


class Reader:
    """Reads messages from a socket."""

    def __init__(self, peer: socket.socket) -> None:
        self._peer = peer

    def typed(self) -> tuple[bytes, bytes]:
        """The next message: its type and its content. Raises Lost at the end of the connection."""
        kind = self.exactly(1)
        return kind, self.untyped()

    def untyped(self) -> bytes:
        """The content of a message without a type."""
        (length,) = struct.unpack("!I", self.exactly(4))
        return self.exactly(length - 4)

    def exactly(self, count: int) -> bytes:
        parts = []
        while count > 0:
            try:
                part = self._peer.recv(min(count, 1 << 18))
            except ConnectionError:
                part = b""
            if not part:
                raise Lost("the connection has ended")
            parts.append(part)
            count -= len(part)
        return b"".join(parts)


class Session:
    """A connection, with the password of the URL."""

    def __init__(self, url: str, port: int | None = None) -> None:
        """`port` replaces the port of the URL, such as by a proxy's. Raises Failed or Lost if the server refuses."""
        parts = urllib.parse.urlsplit(url)
        self._user, self._password = parts.username or "", parts.password or ""
        self._peer = socket.create_connection((parts.hostname, port or parts.port or 5432), PATIENCE)
        self._reader = Reader(self._peer)
        try:
            self._log_in(parts.path.lstrip("/"))
        except BaseException:
            self._peer.close()
            raise

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._peer.close()

    def query(self, statements: str) -> Results:
        """Runs statements by the simple protocol. Raises Failed at an error, Lost if the answer is lost."""
        self.send(message(b"Q", text(statements)))
        return self.results()

    def pipeline(self, *statements: str) -> Results:
        """Runs statements by the extended protocol in one round trip."""
        sent = b""
        for statement in statements:
            sent += message(b"P", b"\0" + text(statement) + b"\0\0")
            sent += message(b"B", b"\0\0" + b"\0" * 6) + message(b"E", b"\0" + b"\0" * 4)
        self.send(sent + message(b"S"))
        return self.results()

    def send(self, content: bytes) -> None:
        """Sends messages. Raises Lost if the connection has ended."""
        try:
            self._peer.sendall(content)
        except ConnectionError:
            raise Lost("the connection has ended") from None

    def results(self) -> Results:
        """Waits for the answers to one round trip."""
        results = Results()
        while True:
            kind, content = self._reader.typed()
            if kind == READY:
                break
            if kind == ERROR:
                results.error = results.error or _failure(content)
            elif kind == NOTICE:
                results.notices.append(str(_failure(content)))
            elif kind == COMPLETE:
                results.tags.append(content.rstrip(b"\0").decode())
            elif kind == ROW:
                results.rows.append(_row(content))
        if results.error:
            raise results.error
        return results

    def _log_in(self, database: str) -> None:
        fields = text("user") + text(self._user) + text("database") + text(database) + b"\0"
        self._peer.sendall(message(b"", struct.pack("!I", 3 << 16) + fields))
        scram = _Scram(self._password)
        while True:
            kind, content = self._reader.typed()
            if kind == READY:
                return
            if kind == ERROR:
                raise _failure(content)
            if kind == AUTHENTICATION:
                self._authenticate(scram, content)

    def _authenticate(self, scram: _Scram, content: bytes) -> None:
        (step,) = struct.unpack_from("!I", content)
        if step == 10:
            first = scram.first()
            self._peer.sendall(message(b"p", text(_SCRAM) + struct.pack("!I", len(first)) + first))
        elif step == 11:
            self._peer.sendall(message(b"p", scram.last(content[4:])))
        elif step != 0 and step != 12:
            raise Failed("", f"the server asks for authentication {step}, and this client knows only {_SCRAM}")


class _Scram:
    """The messages of SCRAM-SHA-256 (RFC 5802, RFC 7677), without channel binding."""

    def __init__(self, password: str) -> None:
        self._password = password.encode()
        self._bare = b"n=,r=" + base64.b64encode(os.urandom(18))

    def first(self) -> bytes:
        return b"n,," + self._bare

    def last(self, challenge: bytes) -> bytes:
        parts = dict(part.split(b"=", 1) for part in challenge.split(b","))
        salted = hashlib.pbkdf2_hmac("sha256", self._password, base64.b64decode(parts[b"s"]), int(parts[b"i"]))
        key = hmac.digest(salted, b"Client Key", "sha256")
        end = b"c=biws,r=" + parts[b"r"]
        signed = hmac.digest(hashlib.sha256(key).digest(), b",".join([self._bare, challenge, end]), "sha256")
        proof = bytes(one ^ other for one, other in zip(key, signed))
        return end + b",p=" + base64.b64encode(proof)


def _failure(content: bytes) -> Failed:
    parts = {part[:1]: part[1:].decode(errors="replace") for part in content.split(b"\0") if part}
    return Failed(parts.get(b"C", ""), parts.get(b"M", ""))


def _row(content: bytes) -> list[bytes | None]:
    (count,), place, values = struct.unpack_from("!H", content), 2, []
    for _ in range(count):
        (length,) = struct.unpack_from("!i", content, place)
        place += 4
        values.append(None if length < 0 else content[place : place + length])
        place += max(0, length)
    return values
