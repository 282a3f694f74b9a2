"""Against the real server: other people's clients of tus 1.0.0, with broken connections and kills of client and server.
"""

from __future__ import annotations

from pathlib import Path

from web.case import made
from web.peers.case import PeerCase, lines_until
from web.relay import Relay

_LENGTH = 20_000_000
_CHUNK = 1 << 20


class UploadCase(PeerCase):
    """Files for the clients to upload. Some uploads stay unfinished."""

    leaves_uploads = True

    def write(self, name: str, length: int = _LENGTH) -> tuple[Path, bytes]:
        content = made(length, name)
        path = self.place() / name
        path.write_bytes(content)
        return path, content


class TuspyTests(UploadCase):
    package = "tusclient"

    def test_it_uploads(self) -> None:
        path, content = self.write("plain")
        for name, flags in (("plain", ()), ("checked", ("checksum",))):
            client = self.begin("tuspy_client", self.server.url, path, f"tuspy/{name}", _CHUNK, f"{name}.json", *flags)
            self.assert_ends_well(client)
            self.assert_stored(f"tuspy/{name}", content)

    def test_it_goes_on_when_it_was_killed(self) -> None:
        path, content = self.write("killed")
        client = self.begin("tuspy_client", self.server.url, path, "killed", _CHUNK, "store.json", "checksum")
        told = int(lines_until(client, 5)[-1])
        client.kill()
        self.finish(client)
        self.assertNotIn("killed", self.visible())
        again = self.begin("tuspy_client", self.server.url, path, "killed", _CHUNK, "store.json", "checksum")
        self.assertGreaterEqual(int(self.assert_ends_well(again).splitlines()[0]), told)
        self.assert_stored("killed", content)

    def test_it_goes_on_when_the_server_was_killed(self) -> None:
        path, content = self.write("restarted")
        client = self.begin("tuspy_client", self.server.url, path, "restarted", _CHUNK, "store.json", RETRIES="60")
        told = int(lines_until(client, 5)[-1])
        self.server.kill()
        self.assertNotIn("restarted", self.visible())
        self.server.start()
        offsets = [int(line) for line in self.assert_ends_well(client).splitlines()]
        self.assertEqual(offsets, sorted(offsets))
        self.assertGreater(offsets[0], told - 1)
        self.assert_stored("restarted", content)

    def test_it_goes_on_when_the_connection_breaks(self) -> None:
        path, content = self.write("broken")
        relay = Relay(self.server.web_port, [3_000_000, 500_000, 1000, 7_000_000])
        self.addCleanup(relay.close)
        url = f"https://127.0.0.1:{relay.port}"
        self.assert_ends_well(self.begin("tuspy_client", url, path, "broken", 9_000_000, "store.json", RETRIES="60"))
        self.assert_stored("broken", content)
        self.assertGreater(relay.cuts, 1)


class AiotusTests(UploadCase):
    package = "aiotus"

    def test_it_uploads(self) -> None:
        path, content = self.write("plain")
        self.assert_ends_well(self.begin("aiotus_client", self.server.url, "aiotus/plain", _CHUNK, path))
        self.assert_stored("aiotus/plain", content)

    def test_several_become_one(self) -> None:
        parts = [self.write(f"part-{number}", 5_000_001 + number) for number in range(5)]
        self.assert_ends_well(
            self.begin("aiotus_client", self.server.url, "aiotus/joined", _CHUNK, *(str(path) for path, _ in parts))
        )
        self.assert_stored("aiotus/joined", b"".join(content for _, content in parts))

    def test_it_goes_on_when_the_connection_breaks(self) -> None:
        path, content = self.write("broken")
        relay = Relay(self.server.web_port, [2_000_000, 4_000_000, 300_000])
        self.addCleanup(relay.close)
        url = f"https://127.0.0.1:{relay.port}"
        self.assert_ends_well(self.begin("aiotus_client", url, "broken", 8 << 20, path))
        self.assert_stored("broken", content)
        self.assertGreater(relay.cuts, 0)

    def test_it_goes_on_when_the_server_was_killed(self) -> None:
        path, content = self.write("restarted")
        relay = Relay(self.server.web_port, [])
        self.addCleanup(relay.close)
        client = self.begin("aiotus_client", f"https://127.0.0.1:{relay.port}", "restarted", 100_000, path)
        relay.until(3_000_000)
        self.server.kill()
        self.assertNotIn("restarted", self.visible())
        self.server.start()
        self.assert_ends_well(client)
        self.assert_stored("restarted", content)


class ResumableUploadTests(UploadCase):
    package = "resumable_upload"

    def test_it_uploads_with_each_checksum(self) -> None:
        path, content = self.write("plain")
        for checksum in ("none", "sha1", "sha256"):
            name = f"resumable/{checksum}"
            self.assert_ends_well(
                self.begin("resumable_upload_client", self.server.url, path, name, _CHUNK, checksum, 1)
            )
            self.assert_stored(name, content)

    def test_parts_at_once(self) -> None:
        path, content = self.write("parallel")
        self.assert_ends_well(self.begin("resumable_upload_client", self.server.url, path, "parallel", _CHUNK, "sha1", 4))
        self.assert_stored("parallel", content)

    def test_it_goes_on_when_the_connection_breaks(self) -> None:
        path, content = self.write("broken")
        relay = Relay(self.server.web_port, [2_000_000, 4_000_000, 300_000])
        self.addCleanup(relay.close)
        url = f"https://127.0.0.1:{relay.port}"
        self.assert_ends_well(self.begin("resumable_upload_client", url, path, "broken", 4 << 20, "sha256", 1))
        self.assert_stored("broken", content)
        self.assertGreater(relay.cuts, 0)

    def test_it_goes_on_when_the_server_was_killed(self) -> None:
        path, content = self.write("restarted")
        relay = Relay(self.server.web_port, [])
        self.addCleanup(relay.close)
        url = f"https://127.0.0.1:{relay.port}"
        client = self.begin("resumable_upload_client", url, path, "restarted", 200_000, "sha1", 1)
        relay.until(3_000_000)
        self.server.kill()
        self.assertNotIn("restarted", self.visible())
        self.server.start()
        self.assert_ends_well(client)
        self.assert_stored("restarted", content)
