"""A small HTTP/1.1 client that returns every answer, including those before the final one."""

from __future__ import annotations

import base64
import hashlib
import socket
import ssl
from dataclasses import dataclass, field
from types import TracebackType

PATIENCE = 180.0

_READ = 1 << 16
_LONGEST_HEAD = 1 << 16

Fields = dict[str, str]


class Ended(ConnectionError):
    """The connection ended before an answer was complete."""


@dataclass
class Answer:
    """One final answer, and the interim answers before it."""

    status: int
    fields: Fields
    content: bytes = b""
    interim: list[Answer] = field(default_factory=list)

    def number(self, name: str) -> int:
        """The value of a numeric field. Raises ValueError if the value is not a number, and KeyError if the field is
        missing."""
        return int(self.fields[name])


def sha256_field(content: bytes) -> str:
    """The digest in the form of `Repr-Digest` and `Content-Digest`."""
    return f"sha-256=:{base64.b64encode(hashlib.sha256(content).digest()).decode()}:"


class Connection:
    """A connection to one server, over TLS if there is a context."""

    def __init__(self, host: str, port: int, context: ssl.SSLContext | None, source: str = "") -> None:
        raw = socket.create_connection((host, port), PATIENCE, (source, 0) if source else None)
        self._stream = context.wrap_socket(raw, server_hostname=host) if context else raw
        self._received = b""

    def __enter__(self) -> Connection:
        return self

    def __exit__(self, _: type[BaseException] | None, __: BaseException | None, ___: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        self._stream.close()

    @property
    def certificate(self) -> bytes:
        """The certificate of the server, in DER."""
        assert isinstance(self._stream, ssl.SSLSocket)
        return self._stream.getpeercert(binary_form=True) or b""

    def send_bytes(self, data: bytes) -> None:
        self._stream.sendall(data)

    def send(self, method: str, target: str, fields: Fields, content: bytes | None = None, length: int | None = None) -> None:
        """Sends a request. With `length`, announces more bytes than `content` has."""
        lines = [f"{method} {target} HTTP/1.1", "Host: server", *(f"{name}: {value}" for name, value in fields.items())]
        if content is not None:
            lines.append(f"Content-Length: {len(content) if length is None else length}")
        self.send_bytes("\r\n".join([*lines, "", ""]).encode() + (content or b""))

    def ask(self, method: str, target: str, fields: Fields, content: bytes | None = None) -> Answer:
        self.send(method, target, fields, content)
        return self.answer(method)

    def answer(self, method: str = "GET") -> Answer:
        """The next final answer. Raises Ended if it is incomplete."""
        interim: list[Answer] = []
        while True:
            found = self._head()
            if found.status >= 200:
                break
            interim.append(found)
        found.interim = interim
        if method != "HEAD" and found.status not in (204, 304):
            found.content = self._content(found.fields)
        return found

    def _head(self) -> Answer:
        while b"\r\n\r\n" not in self._received:
            if len(self._received) > _LONGEST_HEAD:
                raise ValueError("a head without an end")
            self._more()
        head, _, self._received = self._received.partition(b"\r\n\r\n")
        first, *lines = head.decode("latin-1").split("\r\n")
        version, status, *_ = first.split(" ", 2)
        if version != "HTTP/1.1":
            raise ValueError(f"no answer: {first!r}")
        pairs = (line.partition(":") for line in lines)
        return Answer(int(status), {name.lower(): value.strip() for name, _, value in pairs})

    def _content(self, fields: Fields) -> bytes:
        if fields.get("transfer-encoding", "") == "chunked":
            return self._chunks()
        return self._exactly(int(fields["content-length"]))

    def _chunks(self) -> bytes:
        content = b""
        while True:
            while b"\r\n" not in self._received:
                self._more()
            line, _, self._received = self._received.partition(b"\r\n")
            chunk = self._exactly(int(line, 16) + 2)
            if len(chunk) == 2:
                return content
            content += chunk[:-2]

    def _exactly(self, count: int) -> bytes:
        while len(self._received) < count:
            self._more()
        found, self._received = self._received[:count], self._received[count:]
        return found

    def _more(self) -> None:
        try:
            data = self._stream.recv(_READ)
        except ConnectionError as error:
            raise Ended(str(error)) from None
        if not data:
            raise Ended("the server closed")
        self._received += data
