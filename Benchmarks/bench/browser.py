"""Chromium as the client of a page: it opens pages, takes files that are dropped on them, and says how long it was busy."""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from .options import PROJECT
from .processes import CommandFailed, TookTooLong

# The browsers of the tests. Their package has the name of a module beside this one, so it has to be found first.
sys.path.insert(0, str(PROJECT / "Tests"))

from web.peers.browsers import Chromium

# Looks at a condition every so many milliseconds, and answers before the browser ends the script, after 30 s.
_PACE, _PATIENCE = 20, 20_000

_UNTIL = """
return new Promise((resolve) => {{
    const started = performance.now();
    const timer = setInterval(() => {{
        const holds = Boolean({condition});
        if (!holds && performance.now() - started < {patience}) return;
        clearInterval(timer);
        resolve(holds);
    }}, {pace});
}});
"""

# Notes when something first matches a selector and the browser is about to draw it, in milliseconds since the start of
# the navigation.
_FIRST = """
globalThis.firstDrawn = 0;
new MutationObserver((_, observer) => {{
    if (!document.querySelector({selector!r})) return;
    observer.disconnect();
    requestAnimationFrame(() => setTimeout(() => globalThis.firstDrawn = performance.now()));
}}).observe(document, {{childList: true, characterData: true, subtree: true}});
"""

# Notes the tasks that took longer than 50 ms.
_TASKS = """
globalThis.longTasks = [];
new PerformanceObserver((list) => longTasks.push(...list.getEntries().map(({duration}) => duration)))
    .observe({type: 'longtask'});
"""


def obstacle() -> str | None:
    """Why there is no browser; None if there is one."""
    missing = [program for program in Chromium.needs if not shutil.which(program)]
    return f"{' and '.join(missing)} {'are' if missing[1:] else 'is'} not there" if missing else None


@contextmanager
def window(directory: Path, environment: dict[str, str]) -> Iterator[Window]:
    """A browser that accepts every certificate, with a new profile. It ends with the context."""
    browser = Chromium(directory, environment)
    try:
        yield Window(browser)
    finally:
        browser.close()


class Window:
    """One window of the browser."""

    def __init__(self, browser: Chromium) -> None:
        self.browser = browser
        self._first = ""

    def run(self, script: str, *arguments: object) -> Any:
        return self.browser.run(script, *arguments)

    def open(self, url: str) -> None:
        self.browser.open(url)

    def press(self, selector: str) -> None:
        """Presses a button, and waits for the page that it leads to."""
        self.browser.click(self.browser.find(selector))

    def wait(self, condition: str, limit: float) -> None:
        """Waits until an expression of JavaScript is true. Raises TookTooLong after `limit` seconds."""
        script = _UNTIL.format(condition=condition, patience=_PATIENCE, pace=_PACE)
        deadline = time.monotonic() + limit
        while not self.run(script):
            if time.monotonic() > deadline:
                raise TookTooLong(limit)

    def drop(self, paths: Sequence[str], zone: str = "body") -> None:
        """Drops files and folders of this machine, as a user does, onto the middle of an element."""
        data = {"items": [], "files": list(paths), "dragOperationsMask": 1}
        # Some pages show the zone only while something is dragged over them.
        self._drag("dragEnter", (300, 300), data)
        for kind in ("dragOver", "drop"):
            self._drag(kind, self._middle(zone), data)

    def _middle(self, selector: str) -> list[float]:
        found = self.run(
            "const area = document.querySelector(arguments[0])?.getBoundingClientRect();"
            "return area && [area.x + Math.min(area.width, innerWidth) / 2, area.y + Math.min(area.height, innerHeight) / 2]",
            selector)
        if not found:
            raise CommandFailed(f"the page has no {selector} to drop files on")
        return list(found)

    def _drag(self, kind: str, place: Sequence[float], data: dict[str, Any]) -> None:
        self.browser.command("Input.dispatchDragEvent", type=kind, x=round(place[0]), y=round(place[1]), data=data)

    def first_drawn(self, url: str, selector: str, keeps: bool) -> float:
        """Milliseconds from the start of a navigation until something that matches a selector is drawn. Unless `keeps`,
        the browser first forgets what it has kept of pages."""
        if self._first:
            self.browser.command("Page.removeScriptToEvaluateOnNewDocument", identifier=self._first)
        self.open("about:blank")
        if not keeps:
            self.browser.command("Network.clearBrowserCache")
        source = _FIRST.format(selector=selector)
        self._first = self.browser.command("Page.addScriptToEvaluateOnNewDocument", source=source)["identifier"]
        self.open(url)
        self.wait("firstDrawn", 60)
        return float(self.run("return firstDrawn"))

    def watch_tasks(self) -> None:
        self.run(_TASKS)

    def long_tasks(self) -> list[float]:
        """Milliseconds of each task since `watch_tasks` that took longer than 50."""
        return [float(one) for one in self.run("return longTasks")]

    def heap(self, collects: bool = False) -> int:
        """Bytes of the page's objects, after a collection of garbage if that is wanted."""
        if collects:
            self.browser.command("HeapProfiler.collectGarbage")
        return int(self.browser.command("Runtime.getHeapUsage")["usedSize"])
