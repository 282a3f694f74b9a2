"""Proxies in front of the server, configured as in the documentation."""

from __future__ import annotations

import os
import socket
import ssl
import subprocess
from pathlib import Path

from web import documents
from web.server import WebServer
from web.wire import PATIENCE, Connection


class Proxy:
    """A proxy with its own TLS in front of the server's Unix socket."""

    def __init__(self, server: WebServer, name: str, buffers: bool) -> None:
        self.directory = server.path / f"{name}-{'buffers' if buffers else 'passes'}"
        self.directory.mkdir(mode=0o755)
        # The socket already listens when the proxy gets it: clients wait until the proxy answers, and no other program
        # can take the port.
        listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = listener.getsockname()[1]
        self._key, self.certificate = self.directory / "files.key", self.directory / "files.pem"
        self._certify()
        text = self._nginx(buffers) if name == "nginx" else self._haproxy(buffers, listener.fileno())
        text = text.replace("/run/transfer/http.sock", str(server.socket))
        configuration = self.directory / "configuration"
        configuration.write_text(text)
        commands = {
            "nginx": ["nginx", "-p", str(self.directory), "-e", "errors", "-c", str(configuration)],
            "haproxy": ["haproxy", "-db", "-q", "-f", str(configuration)],
        }
        # nginx inherits sockets through this variable, and recognizes them by their addresses.
        variables = os.environ | {"NGINX": f"{listener.fileno()};"}
        with (self.directory / "said").open("wb") as said, listener:
            self._process = subprocess.Popen(
                commands[name],
                cwd=self.directory,
                env=variables,
                pass_fds=[listener.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=said,
            )
        self._await()

    def _certify(self) -> None:
        words = ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", "/CN=files"]
        words += ["-addext", "subjectAltName=IP:127.0.0.1", "-keyout", str(self._key), "-out", str(self.certificate)]
        subprocess.run(["openssl", *words], check=True, capture_output=True)

    def _nginx(self, buffers: bool) -> str:
        block = documents.block("guide/browsers.md", "nginx", "upstream")
        block = block.replace("listen 443 ssl", f"listen 127.0.0.1:{self.port} ssl")
        block = block.replace("/etc/ssl/files.pem", str(self.certificate)).replace("/etc/ssl/files.key", str(self._key))
        if buffers:
            block = block.replace("proxy_request_buffering off;", "proxy_request_buffering on;")
        kinds = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
        places = " ".join(f"{kind}_temp_path {self.directory}/{kind};" for kind in kinds)
        # Only the user may access the server's socket.
        user = "user root;" if os.geteuid() == 0 else ""
        return f"{user} daemon off; pid {self.directory}/pid;\nevents {{}}\nhttp {{ access_log off; {places}\n{block}}}\n"

    def _haproxy(self, buffers: bool, listener: int) -> str:
        both = self.directory / "both.pem"
        both.write_text(self.certificate.read_text() + self._key.read_text())
        block = documents.block("reference/http.md", "haproxy", "frontend")
        block = block.replace("bind :443", f"bind fd@{listener}").replace("/etc/haproxy/files.pem", str(both))
        waits = "    timeout connect 5s\n    timeout client 1h\n    timeout server 1h\n"
        return f"defaults\n{waits}{'    option http-buffer-request' if buffers else ''}\n{block}"

    def _await(self) -> None:
        try:
            self.connect().close()
        except OSError:
            self.close()
            raise AssertionError((self.directory / "said").read_text()) from None

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
    """The environment of clients that connect to the proxy."""
    return dict.fromkeys(("CURL_CA_BUNDLE", "SSL_CERT_FILE", "REQUESTS_CA_BUNDLE"), str(certificate))
