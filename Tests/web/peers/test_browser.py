"""Against the real server: Chromium, which shows folders, sends forms, and runs nothing that was pushed."""

from __future__ import annotations

from typing import ClassVar

from web.case import made
from web.peers.case import PeerCase
from web.peers.webdriver import Browser

class BrowserTests(PeerCase):
    needs = ("chromium", "chromedriver")
    browser: ClassVar[Browser]

    @classmethod
    def setUpClass(cls) -> None:
        super().setUpClass()
        cls.browser = Browser(cls.server.path / "browser", cls.server.environment())
        cls.addClassCleanup(cls.browser.close)
        # It remembers who it is; a page whose address had this would not be one that people see.
        cls.browser.open(f"https://me:{cls.server.token}@{cls.server.listening}/")

    def open(self, path: str) -> None:
        self.browser.open(f"{self.server.url}/{path}")

    def names(self) -> list[str]:
        found: list[str] = self.browser.run("return [...document.querySelectorAll('tbody a')].map(a => a.textContent)")
        return found

    def assert_quiet(self) -> None:
        """No error in the console, but for the icon that every browser asks for."""
        self.assertEqual([line for line in self.browser.complaints() if "/favicon.ico" not in line], [])

    def test_a_form_is_sent(self) -> None:
        contents = {name: made(200_000, name) for name in ("one.bin", "\u4f60 & <b>.bin")}
        for name, content in contents.items():
            (self.place() / name).write_bytes(content)
        self.ask("PUT", "/form/first", {}, b"first")
        self.open("form/")
        self.browser.type(self.browser.find("input[type=file]"), "\n".join(str(self.place() / name) for name in contents))
        self.browser.click(self.browser.find("button"))
        self.assertEqual(sorted(self.names()), sorted([*contents, "first"]))
        for name, content in contents.items():
            self.assert_stored(f"form/{name}", content)
        self.assert_quiet()

    def test_links_lead_where_they_say(self) -> None:
        for name in ("plain.txt", "%25.txt", "a%23b%3Fc.txt"):
            self.ask("PUT", f"/links/sub/{name}", {}, b"there")
        self.open("links/")
        self.assertEqual(self.names(), ["sub/"])
        self.browser.click(self.browser.find("tbody a"))
        self.assertEqual(self.names(), ["%.txt", "a#b?c.txt", "plain.txt"])
        for number in range(3):
            self.browser.click(self.browser.find(f"tbody tr:nth-child({number + 1}) a"))
            self.assertEqual(self.browser.run("return document.body.innerText"), "there")
            self.browser.run("history.back()")
            self.open("links/sub/")
        self.assert_quiet()

    def test_nothing_that_was_pushed_runs(self) -> None:
        page = b"<script>document.title = 'ran'</script><p>text"
        picture = b"<svg xmlns='http://www.w3.org/2000/svg'><script>document.title = 'ran'</script></svg>"
        for name, content in (("page.html", page), ("picture.svg", picture), ("page", page)):
            self.ask("PUT", f"/run/{name}", {}, content)
            self.open(f"run/{name}")
            self.assertNotEqual(self.browser.run("return document.title"), "ran")

    def test_chinese_readers_read_chinese(self) -> None:
        self.assertIn("\u6587\u4ef6\u5939", self.ask("GET", "/", {"Accept": "text/html", "Accept-Language": "zh-CN"}).content.decode())
