"""Against the real server: curl."""

from __future__ import annotations

import json
import signal
import subprocess

from web.case import WebCase, made
from web.relay import Relay
from web.wire import sha256_field


class CurlTests(WebCase):
    needs = ("curl",)

    def test_several_at_once(self) -> None:
        place, contents = self.place(), {f"f{number}": made(200_000 + number, f"{number}") for number in range(8)}
        for name, content in contents.items():
            (place / name).write_bytes(content)
        self.curl("--parallel", "-T", "{" + ",".join(contents) + "}", f"{self.server.url}/many/")
        for name, content in contents.items():
            self.assert_stored(f"many/{name}", content)
        wanted = [word for name in contents for word in ("-o", f"back-{name}", f"{self.server.url}/many/{name}")]
        self.curl("--parallel", *wanted)
        for name, content in contents.items():
            self.assertEqual((place / f"back-{name}").read_bytes(), content)

    def test_nobody_waits_for_a_word_that_does_not_come(self) -> None:
        """Without an answer, curl would send only after its time-out, so content that arrives earlier was requested by
        the server."""
        content = made(3_000_000, "expected")
        (self.place() / "f").write_bytes(content)
        # Longer than any client may take here.
        self.curl("--expect100-timeout", "36000", "-T", "f", f"{self.server.url}/expected")
        self.assert_stored("expected", content)

    def test_what_is_not_wanted_is_not_sent(self) -> None:
        self.curl("-X", "PUT", "--data-binary", "x", f"{self.server.url}/there")
        (self.place() / "f").write_bytes(bytes(3_000_000))
        said = self.curl(
            *("--expect100-timeout", "36000", "-H", "If-None-Match: *", "-o", "/dev/null"),
            *("-w", "%{http_code} %{size_upload}", "-T", "f", f"{self.server.url}/there"),
        )
        self.assertEqual(said, "412 0")
        self.assert_stored("there", b"x")

    def test_part_of_a_file_is_not_put(self) -> None:
        (self.place() / "f").write_bytes(made(5000, "part"))
        said = self.curl("-C", "100", "-T", "f", f"{self.server.url}/part")
        self.assertEqual(json.loads(said)["status"], 400)
        self.assertNotIn("part", self.visible())

    def test_downloads_go_on(self) -> None:
        content = made(2_000_000, "resumed")
        place = self.place()
        (place / "f").write_bytes(content)
        self.curl("-T", "f", f"{self.server.url}/resumed")
        for have in (0, 1, 1_000_000, len(content) - 1):
            (place / "back").write_bytes(content[:have])
            self.curl("-C", "-", "-o", "back", f"{self.server.url}/resumed")
            self.assertEqual((place / "back").read_bytes(), content)
        self.assertEqual(self.curl("-r", "5-9", f"{self.server.url}/resumed", "-o", "five"), "")
        self.assertEqual((place / "five").read_bytes(), content[5:10])

    def test_digests_are_compared(self) -> None:
        content = made(100_000, "digest")
        (self.place() / "f").write_bytes(content)
        for field in ("Repr-Digest", "Content-Digest"):
            wrong = self.curl("-H", f"{field}: {sha256_field(b'other')}", "-T", "f", f"{self.server.url}/{field}")
            self.assertEqual(json.loads(wrong)["status"], 422)
            self.assertNotIn(field, self.visible())
            self.curl("-H", f"{field}: {sha256_field(content)}", "-T", "f", f"{self.server.url}/{field}")
            self.assert_stored(field, content)

    def test_a_form_of_several(self) -> None:
        place = self.place()
        for name in ("one", "two", "three"):
            (place / name).write_bytes(made(90_000, name))
        files = [word for name in ("one", "two", "three") for word in ("-F", f"file=@{name}")]
        told = json.loads(self.curl(*files, "-F", "file=@one;filename=../out", f"{self.server.url}/form/"))
        self.assertEqual([one["result"] == "committed" for one in told], [True, True, True, False])
        for name in ("one", "two", "three"):
            self.assert_stored(f"form/{name}", made(90_000, name))
        self.assertFalse((self.server.path / "out").exists())

    def begin(self, relay: Relay, name: str) -> subprocess.Popen[bytes]:
        """Starts a slow upload of a long file, and waits until some content has arrived."""
        (self.place() / "f").write_bytes(bytes(40_000_000))
        known = ["-sS", "--limit-rate", "2M", "-u", f"me:{self.server.token}"]
        client = self.server.begin(["curl", *known, "-T", "f", f"https://127.0.0.1:{relay.port}/{name}"], self.place())
        relay.until(500_000)
        return client

    def test_a_client_that_is_killed_leaves_nothing(self) -> None:
        for ending in (signal.SIGKILL, signal.SIGTERM):
            relay = Relay(self.server.web_port, [])
            self.addCleanup(relay.close)
            client = self.begin(relay, "half")
            client.send_signal(ending)
            self.finish(client)
            self.assert_served()
            self.assertNotIn("half", self.visible())

    def test_a_server_that_is_killed_leaves_nothing_half(self) -> None:
        relay = Relay(self.server.web_port, [])
        self.addCleanup(relay.close)
        client = self.begin(relay, "half")
        self.server.kill()
        self.assertNotEqual(self.finish(client).returncode, 0)
        self.server.start()
        self.assertNotIn("half", self.visible())
        self.assertEqual(self.server.unfinished, [])
        self.assert_served()
