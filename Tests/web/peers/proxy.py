"""Proxies in front of the server, configured as the documentation says it."""

from __future__ import annotations

import os
import socket
import ssl
import subprocess
import time
from pathlib import Path

from web import documents
from web.server import WebServer
from web.wire import PATIENCE, Connection


def free_port() -> int:
    """One that nobody listens on now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


class Proxy:
    """One program with TLS of its own in front of the server's Unix socket."""

    def __init__(self, server: WebServer, name: str, buffers: bool) -> None:
        self.directory = server.path / f"{name}-{'buffers' if buffers else 'passes'}"
        self.directory.mkdir(mode=0o755)
        self.port = free_port()
        self._key, self.certificate = self.directory / "files.key", self.directory / "files.pem"
        self._certify()
        text = self._nginx(buffers) if name == "nginx" else self._haproxy(buffers)
        text = text.replace("/run/transfer/http.sock", str(server.socket))
        configuration = self.directory / "configuration"
        configuration.write_text(text)
        commands = {
            "nginx": ["nginx", "-p", str(self.directory), "-e", "errors", "-c", str(configuration)],
            "haproxy": ["haproxy", "-db", "-q", "-f", str(configuration)],
        }
        with (self.directory / "said").open("wb") as said:
            self._process = subprocess.Popen(commands[name], cwd=self.directory, stdin=subprocess.DEVNULL, stdout=said, stderr=said)
        self._await()

    def _certify(self) -> None:
        words = ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", "/CN=files"]
        words += ["-addext", "subjectAltName=IP:127.0.0.1", "-keyout", str(self._key), "-out", str(self.certificate)]
        subprocess.run(["openssl", *words], check=True, capture_output=True)

    def _nginx(self, buffers: bool) -> str:
        block = documents.block("HTTP.md", "nginx", "upstream")
        block = block.replace("listen 443 ssl", f"listen 127.0.0.1:{self.port} ssl")
        block = block.replace("/etc/ssl/files.pem", str(self.certificate)).replace("/etc/ssl/files.key", str(self._key))
        if buffers:
            block = block.replace("proxy_request_buffering off;", "proxy_request_buffering on;")
        kinds = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
        places = " ".join(f"{kind}_temp_path {self.directory}/{kind};" for kind in kinds)
        # The socket is the user's own.
        user = "user root;" if os.geteuid() == 0 else ""
        return f"{user} daemon off; pid {self.directory}/pid;\nevents {{}}\nhttp {{ access_log off; {places}\n{block}}}\n"

    def _haproxy(self, buffers: bool) -> str:
        both = self.directory / "both.pem"
        both.write_text(self.certificate.read_text() + self._key.read_text())
        block = documents.block("HTTP.md", "haproxy", "frontend")
        block = block.replace("bind :443", f"bind 127.0.0.1:{self.port}").replace("/etc/haproxy/files.pem", str(both))
        waits = "    timeout connect 5s\n    timeout client 1h\n    timeout server 1h\n"
        return f"defaults\n{waits}{'    option http-buffer-request' if buffers else ''}\n{block}"

    def _await(self) -> None:
        deadline = time.monotonic() + PATIENCE
        while True:
            try:
                socket.create_connection(("127.0.0.1", self.port)).close()
                return
            except OSError:
                if self._process.poll() is not None or time.monotonic() > deadline:
                    raise AssertionError((self.directory / "said").read_text()) from None
                time.sleep(0.01)

    @property
    def url(self) -> str:
        return f"https://127.0.0.1:{self.port}"

    def connect(self) -> Connection:
        context = ssl.create_default_context(cafile=self.certificate)
        return Connection("127.0.0.1", self.port, context)

    def close(self) -> None:
        self._process.terminate()
        self._process.wait(PATIENCE)


def environment(certificate: Path) -> dict[str, str]:
    """For clients that ask the proxy."""
    return dict.fromkeys(("CURL_CA_BUNDLE", "SSL_CERT_FILE", "REQUESTS_CA_BUNDLE"), str(certificate))
