"""Against the real server: browsers, which show folders, send forms, and run no pushed content."""

from __future__ import annotations

import shutil
import subprocess
import unittest
from pathlib import Path

from web.case import WebCase, made
from web.peers.browsers import Chromium, Firefox
from web.peers.page import BrowserCase, Page, origin


class Cases:
    """Hides the base class, so that it is not collected as a test."""

    class ShownCase(Page, BrowserCase):
        def names(self) -> list[str]:
            found: list[str] = self.browser.run("return [...document.querySelectorAll('tbody a')].map(a => a.textContent)")
            return found

        def test_a_form_is_sent(self) -> None:
            contents = {name: made(200_000, name) for name in ("one.bin", "\u4f60 & <b>.bin")}
            for name, content in contents.items():
                (self.place() / name).write_bytes(content)
            self.ask("PUT", "/form/first", {}, b"first")
            self.open("form/?table")
            self.browser.type(self.browser.find("input[type=file]"), "\n".join(str(self.place() / name) for name in contents))
            self.browser.click(self.browser.find("form[enctype] button"))
            self.open("form/?table")
            self.assertEqual(sorted(self.names()), sorted([*contents, "first"]))
            for name, content in contents.items():
                self.assert_stored(f"form/{name}", content)
            self.assert_quiet()

        def test_links_lead_where_they_say(self) -> None:
            for name in ("plain.txt", "%25.txt", "a%23b%3Fc.txt"):
                self.ask("PUT", f"/links/sub/{name}", {}, b"there")
            self.open("links/?table")
            self.assertEqual(self.names(), ["sub/"])
            self.browser.click(self.browser.find("tbody a"))
            self.assertEqual(self.names(), ["%.txt", "a#b?c.txt", "plain.txt"])
            for number in range(3):
                self.browser.click(self.browser.find(f"tbody tr:nth-child({number + 1}) a"))
                self.assertEqual(self.browser.run("return document.body.innerText"), "there")
                self.browser.run("history.back()")
                self.open("links/sub/?table")
            self.assert_quiet()

        def test_nothing_that_was_pushed_runs(self) -> None:
            page = b"<script>document.title = 'ran'</script><p>text"
            picture = b"<svg xmlns='http://www.w3.org/2000/svg'><script>document.title = 'ran'</script></svg>"
            for name, content in (("page.html", page), ("picture.svg", picture), ("page", page)):
                self.ask("PUT", f"/run/{name}", {}, content)
                self.browser.visit(f"{origin(self.server)}/run/{name}")
                self.assertNotEqual(self.browser.run("return document.title"), "ran")

        def test_chinese_readers_read_chinese(self) -> None:
            self.assertIn("\u6587\u4ef6\u5939", self.ask("GET", "/", {"Accept": "text/html", "Accept-Language": "zh-CN"}).content.decode())


class ChromiumTests(Cases.ShownCase):
    kind = Chromium


class FirefoxTests(Cases.ShownCase):
    kind = Firefox


class AuthorityTests(WebCase):
    """A browser accepts a certificate of an authority that it knows without a warning."""

    needs = ("openssl", "certutil")

    @classmethod
    def prepare(cls) -> None:
        authority, own = cls.server.path / "authority", cls.server.path / "own"
        names = "subjectAltName=DNS:localhost,IP:127.0.0.1"
        for place, subject, more in (
            (authority, "/CN=An authority", ["-addext", "keyUsage=critical,keyCertSign"]),
            (own, "/CN=localhost", ["-addext", names, "-addext", "basicConstraints=CA:FALSE", "-CA", f"{authority}.pem", "-CAkey", f"{authority}.key"]),
        ):
            key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", f"{place}.key"]
            subprocess.run(
                ["openssl", "req", "-x509", "-days", "90", "-subj", subject, *key, *more, "-out", f"{place}.pem"],
                check=True, stderr=subprocess.DEVNULL)
        cls.server.arguments += ["--cert", f"{own}.pem", "--key", f"{own}.key"]

    def test_chromium_asks_nothing(self) -> None:
        self.assert_opened(Chromium)

    def test_firefox_asks_nothing(self) -> None:
        self.assert_opened(Firefox)

    def assert_opened(self, kind: type[Chromium | Firefox]) -> None:
        for name in kind.needs:
            if not shutil.which(name):
                raise unittest.SkipTest(f"{name} is not there")
        authority = Path(self.server.path, "authority.pem")
        # Chromium makes a socket below this directory, and the path of a socket has at most 107 bytes.
        browser = kind(self.server.path / kind.__name__, self.server.environment(), authority)
        self.addCleanup(browser.close)
        browser.open(f"{origin(self.server)}/healthz")
        self.assertEqual(browser.run("return document.body.innerText").strip(), "ok")
