"""The real server with HTTP, on a port that stays the same when the server is killed and started again."""

from __future__ import annotations

import os
import ssl
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from dialects.server import Server, binary

from .wire import Connection

_HOST = "127.0.0.1"


class WebServer(Server):
    """A server with a token for clients, and with its certificate in a file."""

    token: str

    def __init__(self, options: Sequence[str] = ()) -> None:
        super().__init__((), options)
        self.socket = self.path / "http.sock"
        self.arguments += ["--http-plain", f"unix:{self.socket}", "--trusted-proxy", "unix"]
        self.certificate = self.path / "nas.pem"
        self.listening = ""
        # Port of a proxy through which browsers reach the server, or 0.
        self.front_port = 0

    def start(self) -> None:
        """Starts the server. The first start also makes the token and fetches the certificate."""
        super().start()
        if self.listening:
            return
        self.listening = self.address
        place = self.arguments.index("--listen") + 1
        self.arguments[place] = self.listening
        self.token = self._make_token()
        self.certificate.write_text(ssl.DER_cert_to_PEM_cert(self._shown()))

    def _listens(self) -> bool:
        return super()._listens() and bool(self.log.events("listeningPlainHTTP"))

    def _make_token(self, *options: str) -> str:
        done = self.transfer("access", "token", "create", "--dir", str(self.directory), "--name", "laptop", *options)
        return done.stdout.decode().strip()

    def _shown(self) -> bytes:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        with self.connect(context=context) as connection:
            return connection.certificate

    @property
    def web_port(self) -> int:
        return int(self.listening.rpartition(":")[2])

    @property
    def url(self) -> str:
        return f"https://{self.listening}"

    def connect(self, port: int = 0, source: str = "", context: ssl.SSLContext | None = None) -> Connection:
        """A connection over TLS. `port` and `source` replace the server's port and the client's address on this
        machine."""
        context = context or ssl.create_default_context(cafile=self.certificate)
        context.set_alpn_protocols(["http/1.1"])
        return Connection(_HOST, port or self.web_port, context, source)

    def environment(self, more: Mapping[str, str] | None = None) -> dict[str, str]:
        """The environment of clients: with the token and the certificate, and without the user's settings."""
        known = dict(self._environment)
        known |= {"PATH": f"{binary().parent}{os.pathsep}{os.environ['PATH']}", "TOKEN": self.token}
        known |= dict.fromkeys(("CURL_CA_BUNDLE", "SSL_CERT_FILE", "REQUESTS_CA_BUNDLE"), str(self.certificate))
        return known | dict(more or {})

    def begin(self, command: Sequence[str], directory: Path | None = None, **more: str) -> subprocess.Popen[bytes]:
        """Starts a client. The caller must wait for it or kill it."""
        return subprocess.Popen(
            command,
            env=self.environment(more),
            cwd=directory or self.path,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
