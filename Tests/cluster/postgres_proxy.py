"""A proxy in front of PostgreSQL that knows messages. It counts round trips, and makes faults, above all at COMMIT.

usage: python3 -m cluster.postgres_proxy HOST:PORT [--port PORT] [--control PORT] [--seed SEED] [--fault JSON]...

Prints the addresses of the proxy and of the control interface as an object, and runs until it is interrupted. `Control`
describes the interface, `Fault` the options of a fault. The `method` of a fault is one of

    CONNECT   a new connection
    QUERY     a round trip: a simple query, or messages up to a Sync
    COMMIT    a COMMIT in either protocol; `contains` is ignored

    curl -d '{"add": {"kind": "cut-behind", "method": "COMMIT", "times": 1}}' CONTROL
"""

from __future__ import annotations

import re
import socket
import struct
import threading
from collections import deque
from dataclasses import dataclass

from .faults import Fault, Faults, parse, run
from .postgres import COMPLETE, READY, Lost, Reader, message, text

# First words of a connection that asks for something else than a session: TLS, GSSAPI, and the cancellation of a statement
# (chapter "Message Formats" of PostgreSQL's manual).
_TLS, _GSSAPI, _CANCEL = 80877103, 80877104, 80877102

_IS_COMMIT = re.compile(rb"(?:^|;)\s*(?:COMMIT|END)\s*(?:WORK|TRANSACTION)?\s*(?:;|\0|$)", re.IGNORECASE)

KINDS = {
    "delay": "passes the message on after `seconds`",
    "cut-before": "cuts the connection before the server gets the message",
    "cut-in": "passes the message on and cuts the client's connection without waiting for the answer",
    "cut-behind": "waits until the server has finished, and cuts the connection without the answer",
    "hold": "keeps the answer, and all behind it, until `release` is called",
    "refuse": "ends a new connection at once (CONNECT)",
    "warn": "puts the warning of a cancelled wait for a standby before the answer (COMMIT)",
}

# SQLSTATE and words are those of SyncRepWaitForLSN in PostgreSQL's source (src/backend/replication/syncrep.c).
_WARNING = message(
    b"N",
    b"SWARNING\0VWARNING\0C01000\0Mcanceling wait for synchronous replication due to user request\0"
    b"DThe transaction has already committed locally, but might not have been replicated to the standby.\0\0",
)


@dataclass
class _Expected:
    """An answer that the server owes to a `CONNECT`, `COMMIT` or `QUERY`."""

    name: str
    fault: Fault | None


class PostgresProxy:
    """Listens on this machine only, and refuses TLS. Counts in `faults.counts`: `connections`, `round trips` (simple queries and
    Syncs that ReadyForQuery has answered), `commits` (COMMITs that succeeded), `bytes sent` and `bytes received`."""

    def __init__(self, host: str, port: int, seed: int = 0, listen: int = 0) -> None:
        self._target = (host, port)
        self.faults = Faults(frozenset(KINDS), seed)
        self._listener = socket.create_server(("127.0.0.1", listen))
        self.port: int = self._listener.getsockname()[1]
        self.closed = threading.Event()
        self._released = threading.Event()
        self._lock = threading.Lock()
        self._open: set[socket.socket] = set()
        threading.Thread(target=self._accept, daemon=True).start()

    def release(self) -> None:
        """Passes on the answers that are held now. Later ones are held again."""
        with self._lock:
            released, self._released = self._released, threading.Event()
        released.set()

    def await_release(self) -> None:
        """Waits until `release` or `close` is called."""
        with self._lock:
            released = self._released
        self.faults.count("held")
        released.wait()

    def cut_all(self) -> None:
        """Cuts all connections, as a network or a server that is lost does."""
        with self._lock:
            streams = list(self._open)
        for stream in streams:
            _end(stream)

    def close(self) -> None:
        """Accepts no more connections and cuts the open ones."""
        self.closed.set()
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self.cut_all()
        self.release()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        self.faults.count("connections")
        delay, fault = self.faults.choose("CONNECT", "")
        self.closed.wait(delay)
        try:
            if fault:
                return
            with socket.create_connection(self._target) as server:
                for peer in (client, server):
                    peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                self._run(client, server)
        except (OSError, Lost):
            pass
        finally:
            _end(client)
            client.close()

    def _run(self, client: socket.socket, server: socket.socket) -> None:
        with self._lock:
            self._open |= {client, server}
        try:
            if not self.closed.is_set():
                _Session(self, client, server).run()
        finally:
            with self._lock:
                self._open -= {client, server}


class _Session:
    """One connection: this thread reads from the client, another one from the server."""

    def __init__(self, proxy: PostgresProxy, client: socket.socket, server: socket.socket) -> None:
        self._proxy, self._faults = proxy, proxy.faults
        self._client, self._server = client, server
        # Answers that the server owes, in the order of the requests.
        self._expected: deque[_Expected] = deque()
        # Prepared statements and portals that are a COMMIT, by name.
        self._committing_statements: set[bytes] = set()
        self._committing_portals: set[bytes] = set()
        self._statement = b""
        self._is_cut = False

    def run(self) -> None:
        """Passes messages until one side ends."""
        try:
            if self._start():
                reader = threading.Thread(target=self._read_server, daemon=True)
                reader.start()
                self._read_client()
                reader.join()
        finally:
            _end(self._server)

    def _start(self) -> bool:
        """Passes the first message. Returns False if it does not start a session."""
        reader = Reader(self._client)
        while True:
            content = reader.untyped()
            (code,) = struct.unpack_from("!I", content)
            if code not in (_TLS, _GSSAPI):
                break
            self._client.sendall(b"N")
        self._server.sendall(message(b"", content))
        # The first ReadyForQuery ends the login.
        self._expected.append(_Expected("CONNECT", None))
        return bool(code != _CANCEL)

    def _read_client(self) -> None:
        reader = Reader(self._client)
        try:
            while True:
                kind, content = reader.typed()
                self._faults.count("bytes sent", len(content) + 5)
                if not self._pass(kind, content):
                    break
        except (Lost, OSError):
            pass
        # After a cut the server may finish what it has received.
        if not self._is_cut:
            _end(self._server)
        else:
            _end_sending(self._server)

    def _pass(self, kind: bytes, content: bytes) -> bool:
        """Passes a message to the server. Returns False if the connection is cut."""
        for name in self._events(kind, content):
            delay, fault = self._faults.choose(name, self._statement.decode(errors="replace") if name == "QUERY" else "")
            self._proxy.closed.wait(delay)
            if fault and fault.kind == "cut-before":
                # The server rolls back when its connection ends.
                _end(self._server)
                _end(self._client)
                return False
            self._expected.append(_Expected(name, fault))
            if fault and fault.kind == "cut-in":
                self._is_cut = True
        self._server.sendall(message(kind, content))
        if self._is_cut:
            _end(self._client)
            return False
        return True

    def _events(self, kind: bytes, content: bytes) -> list[str]:
        """What a message is for faults. Remembers statements."""
        if kind == b"Q":
            self._statement = content
            return [*(["COMMIT"] if _IS_COMMIT.search(content) else []), "QUERY"]
        if kind == b"S":
            return ["QUERY"]
        if kind == b"P":
            name, statement = content.split(b"\0")[:2]
            self._statement = statement
            _mark(self._committing_statements, name, bool(_IS_COMMIT.search(statement)))
        elif kind == b"B":
            portal, name = content.split(b"\0")[:2]
            _mark(self._committing_portals, portal, name in self._committing_statements)
        elif kind == b"E" and content.split(b"\0")[0] in self._committing_portals:
            return ["COMMIT"]
        return []

    def _read_server(self) -> None:
        reader = Reader(self._server)
        try:
            while True:
                kind, content = reader.typed()
                self._faults.count("bytes received", len(content) + 5)
                for fault in self._answered(kind, content):
                    if fault.kind == "cut-behind":
                        self._is_cut = True
                    elif fault.kind == "hold":
                        self._proxy.await_release()
                    elif fault.kind == "warn":
                        self._client.sendall(_WARNING)
                if self._is_cut:
                    _end(self._client)
                    continue
                self._client.sendall(message(kind, content))
        except (Lost, OSError):
            pass
        _end(self._client)

    def _answered(self, kind: bytes, content: bytes) -> list[Fault]:
        """Takes the answers out that a message of the server completes. Returns their faults."""
        done: list[_Expected] = []
        # A COMMIT of a failed transaction answers ROLLBACK.
        if kind == COMPLETE and content in (text("COMMIT"), text("ROLLBACK")):
            if content == text("COMMIT"):
                self._faults.count("commits")
            if self._expected and self._expected[0].name == "COMMIT":
                done.append(self._expected.popleft())
        elif kind == READY:
            # An error in a pipeline skips its COMMIT.
            while self._expected and self._expected[0].name == "COMMIT":
                self._expected.popleft()
            if self._expected:
                done.append(self._expected.popleft())
                self._faults.count("round trips", int(done[0].name == "QUERY"))
        return [one.fault for one in done if one.fault]


def _mark(names: set[bytes], name: bytes, belongs: bool) -> None:
    if belongs:
        names.add(name)
    else:
        names.discard(name)


def _end(stream: socket.socket) -> None:
    _shut(stream, socket.SHUT_RDWR)


def _end_sending(stream: socket.socket) -> None:
    _shut(stream, socket.SHUT_WR)


def _shut(stream: socket.socket, how: int) -> None:
    try:
        stream.shutdown(how)
    except OSError:
        pass


def main() -> None:
    options = parse("A proxy for PostgreSQL that makes faults:", KINDS)
    host, _, port = options.target.rpartition(":")
    proxy = PostgresProxy(host, int(port), options.seed, options.port)
    actions = {"release": proxy.release, "cut": proxy.cut_all}
    run(f"127.0.0.1:{proxy.port}", proxy.faults, actions, options)


if __name__ == "__main__":
    main()
