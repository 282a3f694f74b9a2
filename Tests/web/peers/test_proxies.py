"""Against the real server: requests through nginx and HAProxy as the documentation configures them."""

from __future__ import annotations

import json
from typing import ClassVar

from web.case import made
from web.peers.case import PeerCase
from web.peers.proxy import Proxy, environment
from web.wire import Answer, Connection, sha256_field

_LENGTH = 5_000_000
_INTEROP = {"Upload-Draft-Interop-Version": "8"}


class Proxies:
    """Hides the base class, so that it is not collected as a test."""

    class Case(PeerCase):
        program: ClassVar[str] = ""
        buffers: ClassVar[bool] = False
        leaves_uploads = True
        proxy: ClassVar[Proxy]

        @classmethod
        def setUpClass(cls) -> None:
            cls.needs = (cls.program, "openssl", "curl")
            super().setUpClass()
            cls.proxy = Proxy(cls.server, cls.program, cls.buffers)
            cls.addClassCleanup(cls.proxy.close)

        def through(self) -> Connection:
            connection = self.proxy.connect()
            self.addCleanup(connection.close)
            return connection

        def test_files_come_and_go(self) -> None:
            content = made(_LENGTH, "proxied")
            with self.through() as way:
                digest = {"Repr-Digest": sha256_field(content)}
                self.assertEqual(way.ask("PUT", "/files/%E4%BD%A0", self.authorization | digest, content).status, 201)
                self.assert_stored("files/\u4f60", content)
                part = way.ask("GET", "/files/%E4%BD%A0", self.authorization | {"Range": "bytes=7-1000006"})
                self.assertEqual((part.status, part.content), (206, content[7:1_000_007]))
                listed = way.ask("GET", "/files/?json", self.authorization)
                self.assertEqual([entry["size"] for entry in json.loads(listed.content)], [_LENGTH])
                self.assertEqual(way.ask("DELETE", "/files/", self.authorization).status, 204)
                self.assert_problem(way.ask("GET", "/files/%E4%BD%A0", self.authorization), 404)

        def test_refusals_come_through(self) -> None:
            with self.through() as way:
                wrong = {"Repr-Digest": sha256_field(b"other")}
                self.assert_problem(way.ask("PUT", "/wrong", self.authorization | wrong, b"content"), 422)
            with self.through() as way:
                self.assert_problem(way.ask("GET", "/", {}), 401)
            self.assertNotIn("wrong", self.visible())

        def test_curl_goes_through(self) -> None:
            content = made(_LENGTH, "curl")
            (self.place() / "f").write_bytes(content)
            known = ["curl", "-sSf", "-u", f"me:{self.server.token}"]
            more = environment(self.proxy.certificate)
            self.run_client([*known, "-T", "f", f"{self.proxy.url}/curl"], **more)
            self.run_client([*known, "-T", "-", "-H", "Expect:", f"{self.proxy.url}/empty"], **more)
            self.assert_stored("curl", content)
            (self.place() / "back").write_bytes(content[:1000])
            self.run_client([*known, "-C", "-", "-o", "back", f"{self.proxy.url}/curl"], **more)
            self.assertEqual((self.place() / "back").read_bytes(), content)

        def test_tus_goes_through(self) -> None:
            content, version = made(_LENGTH, "tus"), self.authorization | {"Tus-Resumable": "1.0.0"}
            with self.through() as way:
                fields = version | {"Upload-Length": f"{_LENGTH}", "Upload-Metadata": "filename dHVz"}
                made_at = way.ask("POST", "/.transfer/tus/", fields, b"")
                self.assertEqual(made_at.status, 201)
                address = made_at.fields["location"]
            # A client disconnects in the middle of a piece.
            piece = version | {"Content-Type": "application/offset+octet-stream", "Upload-Offset": "0"}
            gone = self.proxy.connect()
            gone.send("PATCH", address, piece, content[:3_000_000], length=_LENGTH)
            gone.close()
            with self.through() as way:
                offset = way.ask("HEAD", address, version).number("upload-offset")
                self.assertIn(offset, range(3_000_001))
                last = way.ask("PATCH", address, piece | {"Upload-Offset": f"{offset}"}, content[offset:])
                self.assertEqual((last.status, last.number("upload-offset")), (204, _LENGTH))
            self.assert_stored("tus", content)

        def test_resumable_uploads_go_through(self) -> None:
            content, known = made(_LENGTH, "ietf"), self.authorization | _INTEROP
            with self.through() as way:
                begun = way.ask("PUT", "/ietf", known | {"Upload-Complete": "?0"}, content[:1_000_000])
                self.assertEqual(begun.status, 201)
                address = begun.fields["location"]
                offset = way.ask("HEAD", address, known).number("upload-offset")
                self.assertEqual(offset, 1_000_000)
                fields = {"Upload-Complete": "?1", "Upload-Offset": f"{offset}", "Content-Type": "application/partial-upload"}
                last = way.ask("PATCH", address, known | fields, content[offset:])
                self.assertIn(last.status, (200, 201), last.content)
            self.assert_stored("ietf", content)
            self.told_early(begun)

        def told_early(self, begun: Answer) -> None:
            """A proxy may forward a 104 or drop it: no client depends on it."""
            self.assertTrue(all(answer.status in (100, 104) for answer in begun.interim))


class NginxTests(Proxies.Case):
    program = "nginx"


class BufferingNginxTests(Proxies.Case):
    program = "nginx"
    buffers = True


class HAProxyTests(Proxies.Case):
    program = "haproxy"


class BufferingHAProxyTests(Proxies.Case):
    program = "haproxy"
    buffers = True
