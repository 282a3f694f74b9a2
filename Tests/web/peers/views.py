"""Each view of the page, with the made-up holiday, for what looks at all of them: screenshots and accessibility."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from urllib.parse import quote

from web import holiday
from web.peers.browsers import Browser, Chromium
from web.peers.page import Page, link, sign_in
from web.server import WebServer

# Rights of a sign-in, as options of `transfer access pair`.
FULL, WRITE_ONLY = ("--allow-remove",), ("--write-only",)

_FOLDER = quote(holiday.FOLDER)

# A folder for uploads, which each view of uploads makes anew, because what is there is not sent again.
_FOR_UPLOADS = f"{holiday.FOLDER}/From Ben"
_UPLOADS = (("Kirkefjord.jpg", 3 << 20), ("Midnight.jpg", 5 << 20), ("Whale.mp4", 24 << 20), ("GPS.gpx", 4 << 10))

# A folder with Live Photos, which only their views show.
_LIVE = f"{holiday.FOLDER}/From Cleo"
_LIVE_PHOTOS = ("Puffin", "Rorbu by the harbour, in the rain")


@dataclass(frozen=True)
class View:
    """A view, and how a browser gets there. What it shows does not depend on the language of the browser."""

    name: str
    show: Callable[[Views], None]
    rights: tuple[str, ...] = FULL


class Views(Page):
    """The page of a server with the holiday, and with something in the trash."""

    def __init__(self, server: WebServer, browser: Browser) -> None:
        self.server = server
        self.browser = browser
        self._rights: tuple[str, ...] | None = None
        for file in holiday.files():
            self._put(file.path, file.content, file.modified)
            # The folder is as old as what came last.
            os.utime((server.directory / file.path).parent, (file.modified, file.modified))
        self._remove("Blurred.png", "Blurred too.png", "Old plan.txt")

    def show(self, view: View) -> None:
        if self._rights != view.rights:
            sign_in(self.browser, self.server, *view.rights)
            self._rights = view.rights
        view.show(self)

    def fresh_folder(self) -> None:
        shutil.rmtree(self.server.directory / _FOR_UPLOADS, ignore_errors=True)
        self._put(f"{_FOR_UPLOADS}/Ben.txt", b"All that Ben has.\n", 1_784_790_000)

    def live_folder(self) -> None:
        shutil.rmtree(self.server.directory / _LIVE, ignore_errors=True)
        for number, name in enumerate(_LIVE_PHOTOS):
            for end, content in ((".jpg", holiday.picture(name, number)), (".mov", bytes(2_400_000))):
                self._put(f"{_LIVE}/{name}{end}", content, 1_784_795_000 + number)
        self._put(f"{_LIVE}/Diary.txt", b"Rain.\n", 1_784_796_000)

    def _put(self, path: str, content: bytes, modified: int) -> None:
        fields = {"Transfer-Modified": str(modified), "Authorization": f"Bearer {self.server.token}"}
        with self.server.connect() as connection:
            answer = connection.ask("PUT", f"/{quote(path)}", fields, content)
            assert answer.status == 201, answer

    def _remove(self, *names: str) -> None:
        for name in names:
            self._put(f"{holiday.FOLDER}/{name}", name.encode() * 1000, 1_784_500_000)
        done = self.server.transfer(
            "remove", *(f"{holiday.FOLDER}/{name}" for name in names), "--from", self.server.address)
        assert done.returncode == 0, done.stderr


def _list(page: Page) -> None:
    page.open(f"{_FOLDER}/")
    page.until_there(".entry bdi:not(:empty)")
    page.until_there(".make button + button")


def _cards(page: Page) -> None:
    _list(page)
    _as_cards(page)


def _as_cards(page: Page) -> None:
    page.browser.run("document.querySelector('.tools > button.plain').click()")
    page.until_there(".cards .entries .entry")
    page.browser.run("localStorage.removeItem('transfer.cards')")


def _live_photos(page: Views) -> None:
    page.live_folder()
    page.open(quote(f"{_LIVE}/"))
    page.until_there(".entry bdi:not(:empty)")
    page.until_there(".make button + button")
    _as_cards(page)
    page.until_names("Diary.txt", *(f"{name}.jpg" for name in _LIVE_PHOTOS))
    page.until_there(".face:has(.live) img:not([hidden])")
    page.browser.run("document.querySelector('.entry:has(.live) .check input').click()")
    page.until_there(".chosen:not([hidden])")


def _live_photo(page: Views) -> None:
    _live_photos(page)
    page.browser.run("document.querySelector('.entry:has(.live) .face').click()")
    page.until_there("dialog .frame img")


def _chosen(page: Page) -> None:
    _list(page)
    page.browser.run("document.querySelectorAll('.entries .check input').forEach((check, at) => at % 3 || check.click())")
    page.until_there(".chosen:not([hidden])")


def _menu(page: Page) -> None:
    _list(page)
    page.browser.run("document.querySelector('.account').open = true")


def _question(page: Page) -> None:
    _list(page)
    page.browser.run("document.querySelector('.make button:last-child').click()")
    page.until_there("dialog[open]")


def _uploads(page: Views) -> None:
    page.fresh_folder()
    page.open(quote(f"{_FOR_UPLOADS}/"))
    page.until_there(".make button + button")
    page.drop(*_UPLOADS)
    page.until_there(f".row[data-state=checked][aria-posinset='{len(_UPLOADS)}']")
    page.until_there(".uploads:not(:has(.row:not([data-state=checked])))")
    page.until_names(*sorted(["Ben.txt", *(name for name, _ in _UPLOADS)]))


def _conflicts(page: Views) -> None:
    page.fresh_folder()
    page.open(quote(f"{_FOR_UPLOADS}/"))
    page.until_there(".make button + button")
    page.drop(("Ben.txt", 4000), *_UPLOADS[:1])
    page.until_there(".notices .conflict")
    page.until_there(".row[data-state=checked]")


def _trash(page: Page) -> None:
    page.open("#trash")
    page.until_there(".trash [open] li")


def _missing(page: Page) -> None:
    page.open(f"{_FOLDER}/Whales/")


def _write_only(page: Page) -> None:
    page.open("")
    page.until_there(".make button + button")


def _sign_in(page: Page) -> None:
    page.browser.open(link(page.server))


def _table(page: Page) -> None:
    page.open(f"{_FOLDER}/?table")


VIEWS = (
    View("list", _list),
    View("cards", _cards),
    View("live-photos", _live_photos),
    View("live-photo", _live_photo),
    View("chosen", _chosen),
    View("menu", _menu),
    View("question", _question),
    View("trash", _trash),
    View("error", _missing),
    View("table", _table),
    View("uploads", _uploads),
    View("conflicts", _conflicts),
    View("write-only", _write_only, WRITE_ONLY),
    View("sign-in", _sign_in, WRITE_ONLY),
)


@contextmanager
def opened() -> Iterator[tuple[Views, Chromium]]:
    """A server with the holiday, and Chromium."""
    server = WebServer()
    try:
        server.start()
        browser = Chromium(server.path / "browser", server.environment({"TZ": "UTC"}))
        try:
            yield Views(server, browser), browser
        finally:
            browser.close()
    finally:
        server.abandon()
