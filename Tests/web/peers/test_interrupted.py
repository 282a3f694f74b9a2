"""Against the real server: a large upload of the page goes on after the tab is reloaded or the browser is killed, and a
file that changed meanwhile is stored as a whole or not at all."""

from __future__ import annotations

import hashlib
import os
import random
from collections.abc import Callable, Iterable
from pathlib import Path

from web.peers.browsers import Chromium
from web.peers.page import BrowserCase, Page
from web.relay import Relay

# Bytes of the large file, and of those that change.
_SIZE = int(os.environ.get("TRANSFER_INTERRUPTED_MIB", "1024")) << 20
_CHANGED = 256 << 20

# Bytes of a block of the digest, and most bytes of a piece, as in the page.
_BLOCK = 4 << 20
_PIECE = 32 << 20

# Bytes of heads and of TLS, for each byte of content.
_OVERHEAD = 0.01


class InterruptedTests(Page, BrowserCase):
    """Chromium reaches the server through a relay that counts bytes. Each test has another relay, and thereby another
    origin, with its own records of uploads."""

    kind = Chromium
    browser: Chromium  # type: ignore[misc]
    # The page asks before it gives up the upload of a file that has changed.
    leaves_uploads = True

    @classmethod
    def begin_browser(cls) -> Chromium:
        return Chromium(cls.server.path / "browser", cls.server.environment())

    def setUp(self) -> None:
        self.relay = Relay(self.server.web_port, [])
        self.addCleanup(self.relay.close)
        self.server.front_port = self.relay.port
        self.folder = f"{self.id().rpartition('.')[2]}{self.relay.port}"
        self.ask("PUT", f"/{self.folder}/first", {}, b"1")

    def test_reload(self) -> None:
        file = self.send_half(_SIZE)
        self.browser.reload()
        self.assert_goes_on(file)

    def test_killed_browser(self) -> None:
        # A browser writes the cookie of the sign-in to its profile only now and then, and when it ends.
        self.browser.close()
        self.begin_again()
        file = self.send_half(_SIZE)
        self.browser.kill()
        self.begin_again()
        self.open(f"{self.folder}/")
        self.assert_goes_on(file)

    def test_changed_before_the_interruption(self) -> None:
        self.assert_finds_change(lambda begun: range(0, begun // 2, _BLOCK))

    def test_changed_where_it_was_interrupted(self) -> None:
        self.assert_finds_change(lambda begun: range(begun - _PIECE, begun + _PIECE, 1 << 20))

    def test_changed_after_the_interruption(self) -> None:
        file = self.send_half(_CHANGED)
        begun = self.relay.passed
        self.browser.reload()
        change(file, range(begun + 2 * _PIECE, _CHANGED, _BLOCK))
        self.assert_goes_on(file)

    def test_changed_with_another_time(self) -> None:
        file = self.send_half(_CHANGED)
        self.browser.reload()
        change(file, [_CHANGED // 8], keeps_time=False)
        self.choose_again(file)
        self.until("1 of 2 stored", "Not complete")
        self.assert_is_stored(file)

    # Steps

    def begin_again(self) -> None:
        InterruptedTests.browser = self.begin_browser()
        self.addClassCleanup(self.browser.close)

    def send_half(self, size: int) -> Path:
        """Sends half of a new file."""
        file = self.place() / "film.mov"
        write(file, size)
        self.addCleanup(file.unlink)
        self.open(f"{self.folder}/")
        self.until("first")
        self.until_there(".uploads")
        self.browser.drop(file)
        self.relay.until(size // 2)
        return file

    def choose_again(self, file: Path) -> None:
        """Drops the file again. The browser has kept a handle, but cannot ask its user for the right to read it."""
        self.until("1 earlier upload is not complete.")
        self.assertNotIn("film.mov", os.listdir(self.server.directory / self.folder))
        self.browser.drop(file)

    def assert_goes_on(self, file: Path) -> None:
        self.choose_again(file)
        self.until("1 of 1 stored", f"Checked, stored as {self.folder}/film.mov")
        self.assert_is_stored(file)
        size = file.stat().st_size
        self.assertLess(self.relay.passed, (size + _PIECE) * (1 + _OVERHEAD), "more than one piece was sent twice")

    def assert_finds_change(self, places: Callable[[int], range]) -> None:
        file = self.send_half(_CHANGED)
        begun = self.relay.passed
        self.browser.reload()
        change(file, places(begun))
        self.choose_again(file)
        self.until("the file has changed since its first part was sent")
        self.assertNotIn("film.mov", os.listdir(self.server.directory / self.folder))
        self.browser.click(self.browser.find(".row[data-state=failed] .actions button"))
        self.until("1 of 1 stored", "Checked")
        self.assert_is_stored(file)

    def assert_is_stored(self, file: Path) -> None:
        folder = self.server.directory / self.folder
        self.assertEqual(sorted(os.listdir(folder)), ["film.mov", "first"])
        self.assertEqual(digest(folder / "film.mov"), digest(file))


def write(file: Path, size: int) -> None:
    """Writes content of which no two blocks are equal."""
    block = random.Random(str(file)).randbytes(_BLOCK)
    with file.open("wb") as content:
        for at in range(0, size, _BLOCK):
            content.write(at.to_bytes(8) + block[8:])


def change(file: Path, places: Iterable[int], keeps_time: bool = True) -> None:
    """Changes the bytes at these places, and by default leaves the time of the file as it was."""
    before = file.stat()
    with file.open("r+b") as content:
        for place in places:
            content.seek(place + 100)
            content.write(b"changed")
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns + (0 if keeps_time else 2_000_000_000)))


def digest(file: Path) -> str:
    with file.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()
