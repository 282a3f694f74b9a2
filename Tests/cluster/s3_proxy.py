"""A proxy in front of a server that speaks S3. It counts requests and bytes, and makes faults.

usage: python3 -m cluster.s3_proxy URL [--port PORT] [--control PORT] [--seed SEED] [--fault JSON]...

Prints the addresses of the proxy and of the control interface as an object, and runs until it is interrupted. `Control`
describes the interface, `Fault` the options of a fault:

    curl -d '{"add": {"kind": "lose-answer", "method": "PUT", "times": 1}}' CONTROL
    curl -d '{"do": "counts"}' CONTROL
"""

from __future__ import annotations

import hashlib
import socket
import threading
import urllib.parse
from dataclasses import dataclass

from .faults import Fault, Faults, parse, run

# Seconds to wait for bytes; it only ends waits that would last forever.
_PATIENCE = 180.0
# Bytes of the head of a request or an answer, as most servers bound it.
_LONGEST_HEAD = 64 << 10
# Bytes of a body. Bodies are kept whole, and objects of a cluster have up to 16 MiB.
_LONGEST_BODY = 256 << 20

KINDS = {
    "delay": "passes the request on after `seconds`",
    "answer": "answers `status`, with `retry_after`, in place of the server; before the body arrives if `early`",
    "cut-before": "cuts the connection before the server gets the request",
    "cut-body": "passes half of the body on and cuts both connections",
    "cut-answer": "cuts the connection in the middle of the answer's body, or of its first line if it has no body",
    "lose-answer": "lets the server finish the request and cuts the connection without an answer",
    "duplicate": "sends the request a second time later: after `seconds`, or with 0 when `release` is called",
    "wrong-etag": "changes the ETag in the answer",
    "corrupt": "changes one byte of the answer's body",
    "corrupt-request": "changes one byte of the request's body",
    "shorten": "leaves out the last byte of the answer's body, and says so in its length",
    "slow": "passes the bodies on with `rate` bytes a second",
    "forget": "answers as if it had stored the object, and does not",
}


class _Cut(Exception):
    """The connection to the client has to end now."""


@dataclass
class _Message:
    """A request or an answer: its first line, its fields as they came, and its body."""

    line: bytes
    fields: list[tuple[bytes, bytes]]
    body: bytes = b""

    def field(self, name: bytes) -> bytes:
        return next((value for found, value in self.fields if found.lower() == name), b"")

    def set(self, name: bytes, value: bytes | None) -> None:
        """Replaces a field, or removes it."""
        self.fields = [one for one in self.fields if one[0].lower() != name]
        if value is not None:
            self.fields.append((name, value))

    @property
    def head(self) -> bytes:
        return b"".join([self.line, b"\r\n", *(b"%s: %s\r\n" % one for one in self.fields), b"\r\n"])


class _Stream:
    """Reads messages from a socket."""

    def __init__(self, peer: socket.socket) -> None:
        self.peer = peer
        self._buffer = b""

    def head(self) -> _Message | None:
        """The next head, or None if the peer has ended the connection."""
        while b"\r\n\r\n" not in self._buffer:
            if len(self._buffer) > _LONGEST_HEAD or not self._fill():
                return None
        head, _, self._buffer = self._buffer.partition(b"\r\n\r\n")
        line, *fields = head.split(b"\r\n")
        pairs = (field.partition(b":") for field in fields)
        return _Message(line, [(name.strip(), value.strip()) for name, _, value in pairs])

    def body(self, message: _Message, ends_with_connection: bool = False) -> bytes:
        """The body of a message. Raises _Cut if it does not arrive."""
        if b"chunked" in message.field(b"transfer-encoding").lower():
            return self._chunks()
        length = message.field(b"content-length")
        if length:
            return self._exactly(int(length))
        if not ends_with_connection:
            return b""
        while self._fill():
            pass
        body, self._buffer = self._buffer, b""
        return body

    def _chunks(self) -> bytes:
        body = b""
        while True:
            size = int(self._line().split(b";")[0], 16)
            if size == 0:
                while self._line():
                    pass
                return body
            body += self._exactly(size)
            self._line()

    def _line(self) -> bytes:
        while b"\r\n" not in self._buffer:
            if not self._fill():
                raise _Cut
        line, _, self._buffer = self._buffer.partition(b"\r\n")
        return line

    def _exactly(self, count: int) -> bytes:
        if count > _LONGEST_BODY:
            raise _Cut
        parts, have = [self._buffer], len(self._buffer)
        while have < count:
            part = self.peer.recv(1 << 18)
            if not part:
                raise _Cut
            parts.append(part)
            have += len(part)
        joined = b"".join(parts)
        self._buffer = joined[count:]
        return joined[:count]

    def _fill(self) -> bool:
        data = self.peer.recv(1 << 16)
        self._buffer += data
        return bool(data)


class S3Proxy:
    """Listens on this machine only. Counts in `faults.counts`: `METHOD requests`, and as `METHOD sent` and `METHOD received` the
    bytes of the bodies that the client sends and receives. A list of keys has the method `LIST`."""

    def __init__(self, target: str, seed: int = 0, port: int = 0) -> None:
        """`target` is the URL of the server, over HTTP."""
        parts = urllib.parse.urlsplit(target)
        if parts.scheme != "http" or parts.hostname is None:
            raise ValueError(f"{target} is no URL with http and a host")
        self._target = (parts.hostname, parts.port or 80)
        self.faults = Faults(frozenset(KINDS), seed)
        self._listener = socket.create_server(("127.0.0.1", port))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        self._closed = threading.Event()
        self._lock = threading.Lock()
        self._open: set[socket.socket] = set()
        self._late: list[_Message] = []
        threading.Thread(target=self._accept, daemon=True).start()

    def release(self) -> None:
        """Sends the held duplicates to the server, in the order of their requests, and waits for their answers."""
        with self._lock:
            late, self._late = self._late, []
        for request in late:
            self._repeat(request)

    def close(self) -> None:
        """Accepts no more connections, cuts the open ones, and forgets the held duplicates."""
        self._closed.set()
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self.cut_all()

    def cut_all(self) -> None:
        """Cuts all connections of clients, as a network that is lost does."""
        with self._lock:
            streams = list(self._open)
        for stream in streams:
            _end(stream)

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        client.settimeout(_PATIENCE)
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        with self._lock:
            self._open.add(client)
        stream = _Stream(client)
        try:
            while not self._closed.is_set() and (request := stream.head()) is not None:
                self._answer(stream, request)
        except (_Cut, OSError, ValueError):
            pass
        finally:
            with self._lock:
                self._open.discard(client)
            _end(client)

    def _answer(self, stream: _Stream, request: _Message) -> None:
        """Serves one request. Raises _Cut if the connection has to end."""
        method = _method(request)
        self.faults.count(f"{method} requests")
        delay, fault = self.faults.choose(method, request.line.decode(errors="replace"))
        kind = fault.kind if fault else ""
        if fault and kind == "answer" and fault.early:
            stream.peer.sendall(_refusal(fault))
            raise _Cut
        if request.field(b"expect").lower() == b"100-continue":
            stream.peer.sendall(b"HTTP/1.1 100 Continue\r\n\r\n")
            request.set(b"expect", None)
        request.body = stream.body(request)
        self.faults.count(f"{method} sent", len(request.body))
        is_last = request.field(b"connection").lower() == b"close"
        # The connection to the server is for this request alone.
        request.set(b"connection", b"close")
        if request.field(b"transfer-encoding"):
            request.set(b"transfer-encoding", None)
            request.set(b"content-length", b"%d" % len(request.body))
        self._wait(delay)
        if kind == "cut-before":
            raise _Cut
        if fault and kind == "answer":
            stream.peer.sendall(_refusal(fault))
            return
        if kind == "forget":
            etag = hashlib.md5(request.body).hexdigest().encode()
            stream.peer.sendall(b'HTTP/1.1 200 OK\r\nETag: "%s"\r\nContent-Length: 0\r\n\r\n' % etag)
            return
        if kind == "corrupt-request":
            request.body = _changed(request.body)
        answer = self._ask(request, fault)
        if fault and kind == "duplicate":
            self._keep(request, fault)
        if kind == "lose-answer":
            raise _Cut
        self._pass(stream.peer, request, answer, fault)
        self.faults.count(f"{method} received", len(answer.body))
        if is_last or not answer.line.startswith(b"HTTP/1.1"):
            raise _Cut

    def _ask(self, request: _Message, fault: Fault | None) -> _Message:
        """Sends a request to the server, over a separate connection. Returns the answer, its body whole."""
        with socket.create_connection(self._target, _PATIENCE) as server:
            server.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            server.sendall(request.head)
            if fault and fault.kind == "cut-body":
                server.sendall(request.body[: len(request.body) // 2])
                raise _Cut
            self._send(server, request.body, fault)
            stream = _Stream(server)
            answer = stream.head()
            while answer is not None and answer.line.split(b" ")[1:2] == [b"100"]:
                answer = stream.head()
            if answer is None:
                raise _Cut
            answer.set(b"connection", None)
            if not _has_no_body(request, answer):
                answer.body = stream.body(answer, ends_with_connection=True)
                answer.set(b"transfer-encoding", None)
                answer.set(b"content-length", b"%d" % len(answer.body))
            return answer

    def _pass(self, client: socket.socket, request: _Message, answer: _Message, fault: Fault | None) -> None:
        kind = fault.kind if fault else ""
        if kind == "wrong-etag" and answer.field(b"etag"):
            answer.set(b"etag", b'"%s"' % answer.field(b"etag").strip(b'"')[::-1])
        if kind == "corrupt":
            answer.body = _changed(answer.body)
        if kind == "shorten" and answer.body:
            answer.body = answer.body[:-1]
            answer.set(b"content-length", b"%d" % len(answer.body))
        if kind == "cut-answer":
            half = answer.head + answer.body[: len(answer.body) // 2] if answer.body else answer.line[:8]
            client.sendall(half)
            raise _Cut
        client.sendall(answer.head)
        self._send(client, answer.body, fault)

    def _send(self, peer: socket.socket, body: bytes, fault: Fault | None) -> None:
        if not fault or fault.kind != "slow":
            peer.sendall(body)
            return
        # A tenth of a second at a time.
        step = max(1, fault.rate // 10)
        for begin in range(0, len(body), step):
            peer.sendall(body[begin : begin + step])
            self._wait(0.1)

    def _wait(self, seconds: float) -> None:
        if seconds > 0 and self._closed.wait(seconds):
            raise _Cut

    def _keep(self, request: _Message, fault: Fault) -> None:
        if fault.seconds == 0:
            with self._lock:
                self._late.append(request)
            return
        threading.Thread(target=self._repeat_later, args=(request, fault.seconds), daemon=True).start()

    def _repeat_later(self, request: _Message, seconds: float) -> None:
        if not self._closed.wait(seconds):
            self._repeat(request)

    def _repeat(self, request: _Message) -> None:
        try:
            self._ask(request, None)
            self.faults.count("repeated")
        except (_Cut, OSError, ValueError):
            self.faults.count("not repeated")


def _method(request: _Message) -> str:
    method, target = (request.line.split(b" ") + [b""])[:2]
    if method == b"GET" and b"list-type=" in target:
        return "LIST"
    return method.decode(errors="replace")


def _has_no_body(request: _Message, answer: _Message) -> bool:
    status = answer.line.split(b" ")[1:2]
    return request.line.startswith(b"HEAD ") or status in ([b"204"], [b"304"])


def _changed(body: bytes) -> bytes:
    """The body with one bit in its middle changed."""
    middle = len(body) // 2
    return body[:middle] + bytes([body[middle] ^ 1]) + body[middle + 1 :] if body else body


def _refusal(fault: Fault) -> bytes:
    content = f"<Error><Code>SlowDown</Code><Message>{fault.status} by the proxy</Message></Error>".encode()
    later = f"Retry-After: {fault.retry_after}\r\n" if fault.retry_after else ""
    ends = "Connection: close\r\n" if fault.early else ""
    head = f"HTTP/1.1 {fault.status} Fault\r\n{later}{ends}Content-Type: application/xml\r\n"
    return f"{head}Content-Length: {len(content)}\r\n\r\n".encode() + content


def _end(stream: socket.socket) -> None:
    try:
        stream.shutdown(socket.SHUT_RDWR)
    except OSError:
        pass
    stream.close()


def main() -> None:
    options = parse("A proxy for S3 that makes faults:", KINDS)
    proxy = S3Proxy(options.target, options.seed, options.port)
    run(proxy.url, proxy.faults, {"release": proxy.release}, options)


if __name__ == "__main__":
    main()
