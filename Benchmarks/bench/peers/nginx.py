"""nginx as a server for PUT, and curl as its client."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import quote

from .base import Peer, Place, is_root

_TEMPLATE = """
{user}
daemon off;
pid {directory}/pid;
error_log {directory}/error.log;
worker_processes 2;
events {{ worker_connections 1024; }}
http {{
    access_log off;
    client_max_body_size 0;
    client_body_temp_path {bodies};
    keepalive_requests 1000000;
    server {{
        listen {listen};
        {tls}
        location / {{
            root {target};
            dav_methods PUT;
            create_full_put_path on;
        }}
    }}
}}
"""


class Nginx(Peer):
    """`curl -T`: one connection and one file after the other, or several connections and files at once."""

    def __init__(self, place: Place, tls: bool = False, at_once: int = 1) -> None:
        super().__init__(place)
        self._tls = tls
        self._scheme = "https" if tls else "http"
        self._at_once = at_once
        self.name = f"nginx PUT {self._scheme} (curl{f', {at_once} at once' if at_once > 1 else ''})"
        self.promise = "encrypted" if tls else "nothing"

    def prepare(self) -> None:
        self._directory = self.place.directory(f"nginx-{self._scheme}")
        self._port = self.place.route.free_port()
        certificate = self._make_certificate() if self._tls else None
        configuration = self._directory / "nginx.conf"
        configuration.write_text(
            _TEMPLATE.format(
                user="user root;" if is_root() else "",
                directory=self._directory,
                # This directory is on the target's file system, so that nginx renames a complete body instead of
                # copying it.
                bodies=self._directory / "bodies",
                listen=f"{self.place.route.host}:{self._port}{' ssl' if self._tls else ''}",
                tls=_tls(certificate) if certificate else "",
                target=self.place.target,
            )
        )
        server = self.serve(["nginx", "-c", str(configuration), "-p", str(self._directory)])
        server.wait_until_listening(self._port)
        self._certificate = certificate
        self._write_list(certificate)

    def push(self) -> None:
        parallel = ["--parallel", "--parallel-max", str(self._at_once)] if self._at_once > 1 else []
        self.run(["curl", "-sS", "--fail", *parallel, "-K", str(self._list)])

    def push_one(self, file: Path, name: str) -> None:
        """Pushes one file as a user would."""
        trust = ["--cacert", str(self._certificate)] if self._certificate else []
        self.run(["curl", "-sS", "--fail", *trust, "-T", str(file), self._url(name)])

    def _url(self, name: str) -> str:
        return f"{self._scheme}://{self.place.route.host}:{self._port}/{quote(name)}"

    def _write_list(self, certificate: Path | None) -> None:
        """Writes curl's configuration with the files and their targets."""
        lines = [f'cacert = "{certificate}"\n'] if certificate else []
        for file in self.place.corpus.files:
            url = self._url(str(file.relative_to(self.place.corpus.root)))
            lines.append(f'upload-file = "{file}"\nurl = "{url}"\n')
        self._list = self._directory / "curl.conf"
        self._list.write_text("".join(lines))

    def _make_certificate(self) -> Path:
        key, certificate = self._directory / "key.pem", self._directory / "certificate.pem"
        self.place.processes.run(
            ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2"]
            + ["-subj", "/CN=bench", "-addext", f"subjectAltName=IP:{self.place.route.host}"]
            + ["-keyout", str(key), "-out", str(certificate)]
        )
        return certificate


def _tls(certificate: Path) -> str:
    key = certificate.with_name("key.pem")
    return f"ssl_protocols TLSv1.3; ssl_certificate {certificate}; ssl_certificate_key {key};"
