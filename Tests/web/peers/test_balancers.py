"""Against the real server behind HAProxy as a balancer of TCP connections, which states the clients by the PROXY protocol."""

from __future__ import annotations

import socket
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

from dialects.server import Server
from web.case import WebCase, made
from web.wire import PATIENCE, Connection

_HOST = "127.0.0.1"
# The address from which the balancer connects.
_BALANCER = "127.0.0.3"


class Balancer:
    """HAProxy, which forwards TCP connections to servers that it checks."""

    def __init__(self, servers: Sequence[str], options: str) -> None:
        self._home = tempfile.TemporaryDirectory(prefix="transfer-balancer-")
        place = Path(self._home.name)
        self._control = place / "control"
        listener = socket.create_server((_HOST, 0))
        self.port: int = listener.getsockname()[1]
        lines = [
            f"global\n    stats socket {self._control} level admin",
            "defaults\n    mode tcp\n    timeout connect 5s\n    timeout client 1h\n    timeout server 1h",
            f"frontend front\n    bind fd@{listener.fileno()}\n    default_backend servers",
            "backend servers\n    balance first",
        ]
        lines += [f"    server s{number} {address} {options}" for number, address in enumerate(servers)]
        if "check" in options:
            lines.append("    option httpchk GET /readyz")
        (place / "configuration").write_text("\n".join(lines) + "\n")
        with listener:
            self._process = subprocess.Popen(
                ["haproxy", "-db", "-q", "-f", str(place / "configuration")],
                pass_fds=[listener.fileno()],
                stdin=subprocess.DEVNULL,
            )

    def wait_until_down(self, number: int) -> None:
        """Waits until the balancer has noticed that a server is not ready."""
        while f"servers,s{number}," not in (line := self._line(number)) or ",DOWN," not in line:
            pass

    def _line(self, number: int) -> str:
        with socket.socket(socket.AF_UNIX) as control:
            control.connect(str(self._control))
            control.sendall(b"show stat\n")
            said = b"".join(iter(lambda: control.recv(1 << 16), b"")).decode()
        return next(line for line in said.splitlines() if line.startswith(f"servers,s{number},"))

    def close(self) -> None:
        self._process.terminate()
        self._process.wait(PATIENCE)
        self._home.cleanup()


class TrustTests(WebCase):
    """One server with TLS, which takes one address for a balancer."""

    needs = ("haproxy",)
    options = ("--proxy-protocol", _BALANCER, "--log-level", "debug")

    def peers(self) -> list[str]:
        return [str(event["peer"]) for event in self.server.log.events("connected")]

    def balanced(self, options: str) -> Balancer:
        balancer = Balancer([self.server.listening], f"{options} source {_BALANCER}")
        self.addCleanup(balancer.close)
        return balancer

    def test_both_versions_name_the_client(self) -> None:
        for options, source in (("send-proxy-v2", "127.0.0.7"), ("send-proxy", "127.0.0.8")):
            balancer = self.balanced(options)
            content = made(3_000_000, options)
            with self.server.connect(port=balancer.port, source=source) as way:
                answer = way.ask("PUT", f"/{options}", self.authorization, content)
                self.assertEqual(answer.status, 201)
            self.assert_stored(options, content)
            self.assertTrue(any(peer.startswith(f"{source}:") for peer in self.peers()), self.peers())

    def test_a_push_comes_through(self) -> None:
        balancer = self.balanced("send-proxy-v2")
        content = made(20_000_000, "push")
        (self.place() / "pushed").write_bytes(content)
        command = ["transfer", "push", "--to", f"{_HOST}:{balancer.port}", "--trust-new", "pushed"]
        # The user who runs the server has no rights behind a balancer, and the token has.
        self.run_client(command, TRANSFER_TOKEN=self.server.token)
        self.assert_stored("pushed", content)

    def test_others_state_nothing(self) -> None:
        before = len(self.peers())
        header = b"PROXY TCP4 203.0.113.9 198.51.100.1 56324 443\r\n"
        version_2 = bytes.fromhex("0d0a0d0a000d0a515549540a2111000ccb007109c6336401dc0401bb")
        for said in (header, version_2):
            with Connection(_HOST, self.server.web_port, None, "127.0.0.9")._stream as other:
                other.sendall(said)
                other.shutdown(socket.SHUT_WR)
                self.assertNotIn(b" 200 ", b"".join(iter(lambda: other.recv(1 << 12), b"")))
        # The balancer itself has to send a header before TLS.
        with socket.create_connection((_HOST, self.server.web_port), PATIENCE, (_BALANCER, 0)) as bare:
            bare.sendall(b"\x16\x03\x01")
            self.assertEqual(bare.recv(1), b"")
        self.assertFalse(any("203.0.113.9" in peer for peer in self.peers()))
        self.assertTrue(all(peer.startswith("127.0.0.9:") for peer in self.peers()[before:]), self.peers())


class DrainTests(WebCase):
    """Two servers behind a balancer, of which one stops."""

    needs = ("haproxy",)
    servers: ClassVar[list[Server]]

    @classmethod
    def setUpClass(cls) -> None:
        super().setUpClass()
        cls.servers = []
        options = ("--plaintext", "--http", "on", "--proxy-protocol", _HOST, "--drain-delay", "1h")
        for _ in range(2):
            server = Server((), options)
            cls.addClassCleanup(server.abandon)
            server.start()
            cls.servers.append(server)

    def test_a_push_ends_at_the_other_server(self) -> None:
        first, second = self.servers
        check = "send-proxy-v2 check inter 50ms fall 1 rise 1"
        balancer = Balancer([first.address, second.address], check)
        self.addCleanup(balancer.close)
        content = made(12_000_000, "drained")
        (self.place() / "drained").write_bytes(content)
        command = ["transfer", "push", "--plaintext", "--bandwidth", "2M", "--to", f"{_HOST}:{balancer.port}", "drained"]
        push = self.server.begin(command, self.place())
        first.log.until(lambda: bool(first.log.events("started")), "the upload has begun")
        first.ask_to_stop()
        balancer.wait_until_down(0)
        # The server still serves: clients that connect to it before the balancer knows are not refused.
        said = b"PROXY TCP4 127.0.0.1 127.0.0.1 1 1\r\nGET /readyz HTTP/1.1\r\nHost: localhost\r\n\r\n"
        host, _, port = first.address.rpartition(":")
        with socket.create_connection((host, int(port))) as late:
            late.sendall(said)
            answer = b"".join(iter(lambda: late.recv(1 << 12), b""))
        self.assertTrue(answer.startswith(b"HTTP/1.1 503 "), answer)
        self.assertIn(b"\r\nConnection: close\r\n", answer)
        # A second signal ends the delay and the running upload.
        first.ask_to_stop()
        self.assertEqual(first.wait(), 0, first.log.tail())
        done = self.finish(push)
        self.assertEqual(done.returncode, 0, (done.stdout + done.stderr).decode())
        self.assertFalse((first.directory / "drained").exists())
        self.assertEqual((second.directory / "drained").read_bytes(), content)
