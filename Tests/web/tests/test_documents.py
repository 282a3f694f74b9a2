"""Against the real server: the commands in the documentation, unchanged."""

from __future__ import annotations

import io
import json
import tarfile
from collections.abc import Callable
from pathlib import Path

from web import documents
from web.case import WebCase, made

_SERVER = "https://nas.local:5288"
_LENGTH = 300_000
_GUIDE, _REFERENCE = "guide/browsers.md", "reference/http.md"


class DocumentTests(WebCase):
    needs = ("curl", "openssl", "tar", "bash")

    @classmethod
    def setUpClass(cls) -> None:
        super().setUpClass()
        cls._work = cls.server.path / "reader"
        cls._work.mkdir(mode=0o700)

    _work: Path
    _photo = made(_LENGTH, "photo")

    def shell(self, text: str) -> str:
        """Runs commands as a reader would, with this server's address and the token."""
        # The server accepts no token in a URL, where others could read it.
        for name in ("nas.local:5288", "files.example.com", "dav.example.com"):
            text = text.replace(name, self.server.listening)
        return self.run_client(["bash", "-euo", "pipefail", "-c", text], self._work, **self._own)

    @property
    def _own(self) -> dict[str, str]:
        """The reader's environment. The reader does not run the server and does not know its key."""
        names = ("HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME", "XDG_RUNTIME_DIR")
        return {"TRANSFER_TOKEN": self.server.token} | dict.fromkeys(names, str(self._work))

    def write(self, name: str, content: bytes) -> None:
        path = self._work / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)

    def test_every_block_of_the_reference_is_run_here(self) -> None:
        beginnings = [text.split()[0] for text in documents.blocks(_REFERENCE, "sh")]
        self.assertEqual(beginnings, ["curl", f"URL={_SERVER}", f"URL={_SERVER}", "curl", "curl"])

    def test_the_certificate_is_the_one_that_was_logged(self) -> None:
        (block,) = (text for text in documents.blocks(_GUIDE, "sh") if "openssl s_client" in text)
        # The reader has a token already.
        lines = [line for line in block.splitlines() if not line.startswith("transfer ")]
        said = self.shell("\n".join([*lines, 'echo "$CURL_CA_BUNDLE"\n']))
        self.assertIn(self.server.log.events("browserCertificate")[0]["fingerprint"], said)
        self.assertEqual(Path(said.splitlines()[-1]).read_text(), self.server.certificate.read_text())

    def test_the_commands_for_curl(self) -> None:
        checks = self._checks()
        lines = documents.block(_GUIDE, "sh", "curl -u").splitlines()
        self.assertEqual(len(lines), len(checks))
        for line, (prepare, check) in zip(lines, checks):
            with self.subTest(line):
                prepare()
                check(self.shell(line))

    def _checks(self) -> list[tuple[Callable[[], None], Callable[[str], None]]]:
        """For each line, the preparation before it and the check after it."""
        photo, files = self._work / "photo.png", self.server.directory
        return [
            (lambda: self.write("photo.png", self._photo), self._check_put),
            (photo.unlink, lambda _: self.assertEqual(photo.read_bytes(), self._photo)),
            (
                lambda: self.write("photo.png", self._photo[: _LENGTH // 2]),
                lambda _: self.assertEqual(photo.read_bytes(), self._photo),
            ),
            (lambda: None, self._check_listing),
            (lambda: None, lambda _: self.assertFalse((files / "photos/photo.png").exists())),
            (lambda: self.write("build/out.o", self._photo), self._check_archive),
        ]

    def _check_put(self, said: str) -> None:
        told = json.loads(said)
        self.assertEqual((told["result"], told["storedPath"], told["durable"]), ("committed", "photos/photo.png", True))
        self.assert_stored("photos/photo.png", self._photo)

    def _check_listing(self, said: str) -> None:
        self.assertIn(("photos/photo.png", _LENGTH), [(entry["path"], entry["size"]) for entry in json.loads(said)])

    def _check_archive(self, _: str) -> None:
        with tarfile.open(fileobj=io.BytesIO((self.server.directory / "build.tar").read_bytes())) as archive:
            self.assertIn("build/out.o", archive.getnames())

    def test_the_command_for_forms(self) -> None:
        for name in "ab":
            self.write(f"{name}.png", made(1000, name))
        said = self.shell(documents.block(_REFERENCE, "sh", "curl -u"))
        self.assertEqual([told["result"] for told in json.loads(said)], ["committed", "committed"])
        for name in "ab":
            self.assert_stored(f"photos/{name}.png", made(1000, name))

    def test_the_commands_for_resumable_uploads(self) -> None:
        content = made(1_500_000, "resumable")
        self.write("a.bin", content)
        tus, ietf = (text for text in documents.blocks(_REFERENCE, "sh") if text.startswith("URL="))
        for name, text in {"a.bin": tus, "b.bin": ietf}.items():
            with self.subTest(name):
                self.assertIn("transfer-result: committed", self.shell(text).lower())
                self.assert_stored(f"photos/{name}", content)

    def test_the_command_for_changes(self) -> None:
        self.ask("PUT", "/a.png", {}, self._photo)
        said = self.shell(documents.block(_REFERENCE, "sh", "curl -H"))
        self.assertEqual([json.loads(line)["result"] for line in said.splitlines()], ["completed", "completed"])
        self.assert_stored("old/a.png", self._photo)

    def test_the_command_for_events(self) -> None:
        line = documents.block(_REFERENCE, "sh", "curl -N").strip()
        self.assertIn("retry:", self.shell(f"{line} --max-time 3 || true"))

    def test_the_commands_for_push(self) -> None:
        """Another Transfer server takes the place of the other server in these commands."""
        self.write("holiday/a.jpg", made(70_000, "holiday"))
        self.write("photo.png", self._photo)
        self.write("dav.token", self.server.token.encode())
        (self._work / "dav.token").chmod(0o600)
        for line in documents.block(_GUIDE, "sh", "transfer push holiday").splitlines():
            with self.subTest(line):
                self.shell(line)
        self.assert_stored("inbox/holiday/a.jpg", made(70_000, "holiday"))
        self.assert_stored("photo.png", self._photo)
