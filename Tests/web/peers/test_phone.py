"""Against the real server: a phone with a bad connection sends the pictures of a holiday, and its user looks through them and
puts them in order, in Chromium."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import ClassVar

from web import holiday
from web.peers.browsers import Chromium
from web.peers.page import BrowserCase, Page, invitation
from web.relay import Relay

_PICTURES = 300
_ALBUM = 10
_FOLDER = "Lofoten"

# CSS pixels of the screen.
_WIDTH, _HEIGHT = 390, 844

# The states of all uploads, which the panel shows a few at a time.
_STATES = """
const list = document.querySelector('.uploads .rows');
const states = {};
for (let top = 0; top < list.scrollHeight; top += list.clientHeight) {
    list.scrollTop = top;
    // Frames draw what has become visible.
    for (let frame = 0; frame < 2; frame++) await new Promise(requestAnimationFrame);
    for (const row of list.querySelectorAll('.row')) {
        states[row.querySelector('.name').textContent] = row.querySelector('.state').textContent;
    }
}
return states;
"""

# The numbers of records and of copies that the browser keeps of uploads.
_KEPT = """
const answer = (request) => new Promise((resolve) => request.onsuccess = () => resolve(request.result));
const database = await answer(indexedDB.open('transfer', 1));
const records = await answer(database.transaction('uploads').objectStore('uploads').count());
const copies = await (await navigator.storage.getDirectory()).getDirectoryHandle('uploads', {create: true});
let count = 0;
for await (const name of copies.keys()) count++;
database.close();
return [records, count];
"""

# Waits until the viewer shows the picture of a file.
_SHOWN = """
const [name] = arguments;
const image = () => document.querySelector('dialog .frame img');
const holds = () => image()?.alt === name && image().complete && image().naturalWidth > 0;
const end = Date.now() + 25_000;
while (!holds() && Date.now() < end) await new Promise((resolve) => setTimeout(resolve, 5));
return holds();
"""


class PhoneTests(Page, BrowserCase):
    kind = Chromium
    tools = ("zbarimg",)
    browser: Chromium  # type: ignore[misc]
    relay: ClassVar[Relay]

    @classmethod
    def begin_browser(cls) -> Chromium:
        return Chromium(cls.server.path / "browser", cls.server.environment({"TZ": "UTC"}))

    @classmethod
    def begin_session(cls) -> None:
        """Signs in by the QR code that the server's user shows, over the connection that will break."""
        cls.relay = Relay(cls.server.web_port, [])
        cls.addClassCleanup(cls.relay.close)
        cls.server.front_port = cls.relay.port
        cls.browser.take_look(_WIDTH, _HEIGHT, is_dark=False, is_phone=True)
        printed = invitation(cls.server, "--allow-remove", "--qr", name="phone")
        cls.browser.open(read_code(printed, cls.server.path / "code.pgm"))
        cls.browser.click(cls.browser.find("button"))

    def test_holiday(self) -> None:
        files = self.make_pictures()
        self.until("This folder is empty")
        self.make_folder(_FOLDER)
        self.send(files)
        self.look_through([file.name for file in files])
        self.move_to_album([file.name for file in files[:_ALBUM]])
        self.remove_and_undo(files[-1].name)
        for number, file in enumerate(files):
            folder = f"{_FOLDER}/Album" if number < _ALBUM else _FOLDER
            self.assert_stored(f"{folder}/{file.name}", file.read_bytes())
        self.assertEqual(len(self.visible()), _PICTURES)
        self.sign_out(files[-1])

    # Steps

    def make_pictures(self) -> list[Path]:
        place = self.place()
        for file in holiday.snapshots(_PICTURES):
            (place / file.path).write_bytes(file.content)
        return sorted(place.iterdir())

    def make_folder(self, name: str) -> None:
        self.press_button("New folder")
        self.browser.type(self.browser.find("dialog input"), name)
        self.press_button("Make folder")
        self.until_names(name)
        self.browser.click(self.browser.find(".entry a"))
        self.until("This folder is empty")

    def send(self, files: list[Path]) -> None:
        """Sends the pictures. The connection is cut before the page is loaded again, and stalls after that."""
        size = sum(file.stat().st_size for file in files)
        self.until_there(".uploads")
        self.browser.drop(*files)
        self.relay.until(size // 8)
        # While nothing travels, the page takes the rest of the pictures.
        self.lose_connection(f" of {_PICTURES} stored")
        self.relay.until(size // 2)
        self.browser.reload()
        self.until("earlier uploads are not complete")
        self.assert_readable()
        self.press_button("Go on with")
        self.relay.until(size * 3 // 4)
        self.stall()
        self.until_checked()
        # What was stored before the page was loaded again is not in the list any more, but is found again.
        self.press_button("Clear stored ones")
        self.browser.drop(*files)
        self.until(f" of {_PICTURES} stored")
        self.assertEqual(self.until_checked(), _PICTURES)
        self.press_button("Clear stored ones")

    def lose_connection(self, *parts: str) -> None:
        """Loses the connection until the page says so, and shows these texts."""
        self.relay.go_down()
        self.until("The connection is lost", *parts)
        self.assert_readable()
        self.relay.come_back()

    def stall(self) -> None:
        """Loses everything that is sent, without the end of a connection, until the page gives the connections up."""
        self.relay.hold()
        self.until("The connection is lost")
        self.assert_readable()
        self.relay.release()

    def look_through(self, names: list[str]) -> None:
        """Looks at each picture, from the first one on, in the order in which they were taken."""
        self.browser.run("document.querySelector('.tools > button.plain').click()")
        self.until_there(".cards .entries .entry")
        self.browser.click(self.browser.find(f".entry a[href$='/{names[0]}']"))
        for name in names:
            if not self.browser.run(_SHOWN, name):
                raise AssertionError(f"the viewer does not show {name}, but:\n{self.text}")
            if name != names[-1]:
                self.swipe()
        self.assert_readable()
        self.press_button("Close")

    def swipe(self) -> None:
        """Moves a finger to the left."""
        for kind, x in (("touchStart", 300), ("touchMove", 200), ("touchMove", 80)):
            self.browser.command("Input.dispatchTouchEvent", type=kind, touchPoints=[{"x": x, "y": 400}])
        self.browser.command("Input.dispatchTouchEvent", type="touchEnd", touchPoints=[])

    def move_to_album(self, names: list[str]) -> None:
        self.browser.run("scrollTo(0, 0)")
        for name in names:
            self.choose(name)
        self.until(f"{len(names)} selected")
        self.press_button("Move…")
        self.until(f"Move {len(names)} entries to")
        self.press_button("New folder")
        self.until_there("dialog input[autofocus]")
        self.browser.type(self.browser.find("dialog input[autofocus]"), "Album")
        self.press_button("Make folder")
        self.until(f"/{_FOLDER}/Album")
        self.press_button("Move here")
        self.until(f"Moved {len(names)} entries", "Album")
        self.assert_readable()

    def remove_and_undo(self, name: str) -> None:
        self.browser.run("scrollTo(0, document.body.scrollHeight)")
        self.choose(name)
        self.until("1 selected")
        self.press_button("Remove")
        self.until("Removed to the trash", without=name)
        self.assertNotIn(f"{_FOLDER}/{name}", self.visible())
        self.press_button("Undo")
        self.until("Undone", name)
        self.assert_readable()

    def sign_out(self, file: Path) -> None:
        """Signs out while an upload waits for a decision, whose name and copy are kept for the time after a reload."""
        with file.open("ab") as content:
            content.write(b"changed")
        self.browser.drop(file)
        self.until("Keep both")
        records, copies = self.browser.run(_KEPT)
        # The page may have been loaded again between a copy and its record.
        self.assertTrue(records == 1 and copies >= 1, (records, copies))
        self.relay.go_down()
        self.browser.run("document.querySelector('.account').open = true")
        self.press_button("Sign out")
        self.until("The server cannot be reached.")
        self.assertEqual(self.browser.run(_KEPT)[0], 1, "the session goes on")
        self.relay.come_back()
        self.press_button("Sign out")
        self.until("Signed out")
        self.assertEqual(self.browser.run(_KEPT), [0, 0])

    def choose(self, name: str) -> None:
        entry = f".entry:has(a[href$='/{name}'])"
        self.until_there(entry)
        # The tools above the list would cover it.
        self.browser.run("document.querySelector(arguments[0]).scrollIntoView({block: 'center'})", entry)
        self.browser.click(self.browser.find(f"{entry} .check label"))

    # Checks

    def until_checked(self) -> int:
        """Waits for the end of all uploads, and fails unless each was compared with what is stored. Returns their number."""
        self.until_uploaded()
        states = self.browser.run(_STATES)
        self.assertEqual([f"{name}: {state}" for name, state in states.items() if not state.startswith("Checked, ")], [])
        self.assert_readable()
        return len(states)

    def assert_readable(self) -> None:
        """The page shows no JSON, and nothing that waits without an end."""
        self.assertNotRegex(self.text, r'[{}"]|undefined|null|NaN|Loading')
        self.assertEqual(self.browser.run("return document.querySelectorAll('[aria-busy=true]').length"), 0)


def read_code(printed: str, image: Path) -> str:
    """Reads the QR code that a terminal shows, as a camera does."""
    rows = [re.sub(r"\x1b\[[0-9;]*m", "", line) for line in printed.splitlines() if line.startswith("\x1b[")]
    modules = [[cell in dark for cell in row] for row in rows for dark in ("▀█", "▄█")]
    scale = 4
    pixels = b"".join(bytes(0 if module else 255 for module in row for _ in range(scale)) * scale for row in modules)
    image.write_bytes(b"P5 %d %d 255\n" % (len(modules[0]) * scale, len(modules) * scale) + pixels)
    command = ["zbarimg", "--quiet", "--raw", "--oneshot", str(image)]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()
