"""Against the real server: one short walk through the page in Chromium. `make test-http` has the long ones."""

from __future__ import annotations

import unittest

from web.peers.browsers import Chromium
from web.peers.page import BrowserCase, Page, dropped


class SmokeTests(Page, BrowserCase):
    kind = Chromium

    @classmethod
    def begin_browser(cls) -> Chromium:
        try:
            return Chromium(cls.server.path / "browser", cls.server.environment())
        except AssertionError as error:
            # Not every container lets a browser start.
            raise unittest.SkipTest(f"Chromium does not start here: {error}") from None

    def test_a_dropped_file_is_checked(self) -> None:
        # The sign-in has pages without an icon, which browsers look for.
        self.browser.complaints()
        self.ask("PUT", "/walk/first.txt", {}, b"first")
        self.open("walk/")
        self.until("first.txt")
        self.drop(("second.bin", 5 << 20))
        self.until("1 of 1 stored", "Checked, stored as", "second.bin")
        self.assert_stored("walk/second.bin", dropped("second.bin", 5 << 20))
        self.assertEqual(self.browser.complaints(), [])
