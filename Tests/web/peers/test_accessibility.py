"""Against the real server: axe finds nothing in any view of the page, and no view is wider than a narrow screen."""

from __future__ import annotations

import importlib.resources
import shutil
import unittest
from contextlib import ExitStack
from typing import Any, ClassVar

from web.peers.browsers import Chromium
from web.peers.views import VIEWS, Views, opened

# The package has the script, and is installed without what it depends on.
_PACKAGE = "axe_playwright_python"

_WIDTHS = (320, 1280)

# Runs every rule, and tells of each violation the rule, the reason, and the first places.
_FIND = """
return axe.run({resultTypes: ['violations']}).then(({violations}) => violations.map(({id, help, nodes}) =>
    `${id}: ${help}: ${nodes.slice(0, 3).map(({html, any}) => `${html.slice(0, 160)} ${any[0]?.message ?? ''}`).join(' | ')}`));
"""

# What sticks out of the window at the right.
_WIDE = """
const width = document.documentElement.clientWidth;
if (document.scrollingElement.scrollWidth <= width) return [];
return [...document.body.querySelectorAll('*')].filter((one) => one.getBoundingClientRect().right > width + 1)
    .slice(0, 3).map((one) => `wider than the window: ${one.outerHTML.slice(0, 160)}`);
"""


class AccessibilityTests(unittest.TestCase):
    page: ClassVar[Views]
    browser: ClassVar[Chromium]
    axe: ClassVar[str]

    @classmethod
    def setUpClass(cls) -> None:
        for program in Chromium.needs:
            if not shutil.which(program):
                raise unittest.SkipTest(f"{program} is not there")
        try:
            cls.axe = (importlib.resources.files(_PACKAGE) / "axe.min.js").read_text()
        except ModuleNotFoundError:
            raise unittest.SkipTest(f"the package {_PACKAGE} is not there") from None
        context = ExitStack()
        cls.addClassCleanup(context.close)
        cls.page, cls.browser = context.enter_context(opened())

    def test_every_view_in_english(self) -> None:
        self.assert_accessible("en")

    def test_every_view_in_german(self) -> None:
        self.assert_accessible("de")

    def test_every_view_in_chinese(self) -> None:
        self.assert_accessible("zh-CN")

    def assert_accessible(self, language: str) -> None:
        self.browser.speak(language)
        for view in VIEWS:
            self.browser.take_look(_WIDTHS[-1], 800, is_dark=False)
            self.page.show(view)
            self.assertEqual(self.browser.run("return document.documentElement.lang.slice(0, 2)"), language[:2], view.name)
            self.browser.run(self.axe)
            for width in _WIDTHS:
                for is_dark in (False, True):
                    with self.subTest(f"{view.name}, {width} px, {'dark' if is_dark else 'light'}"):
                        self.browser.take_look(width, 800, is_dark)
                        self.assertEqual(self.found(), [])

    def found(self) -> Any:
        # Rows are drawn in the next frame.
        self.browser.run("return new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)))")
        return [*self.browser.run(_FIND), *self.browser.run(_WIDE)]
