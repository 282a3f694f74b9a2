"""Against the real server: Live Photos in the page, each of which is a picture and a movie, in Chromium."""

from __future__ import annotations

import base64
from typing import ClassVar
from urllib.parse import quote

from web.peers.browsers import Chromium
from web.peers.page import BrowserCase, Page

# Keys (WebDriver, section 17.4.2).
_ENTER, _ESCAPE, _DELETE, _F2, _RIGHT = "\ue007", "\ue00c", "\ue017", "\ue032", "\ue014"

# Draws a JPEG and records a movie of a few frames. Chromium looks into a movie for its format, whatever its name is.
_MEDIA = """
const canvas = document.createElement('canvas');
canvas.width = canvas.height = 64;
const context = canvas.getContext('2d');
const draw = (hue) => {
    context.fillStyle = `hsl(${hue} 80% 50%)`;
    context.fillRect(0, 0, 64, 64);
};
const encoded = async (blob) => {
    const bytes = new Uint8Array(await blob.arrayBuffer());
    return btoa([...bytes].map((byte) => String.fromCharCode(byte)).join(''));
};
draw(0);
const still = await new Promise((done) => canvas.toBlob(done, 'image/jpeg'));
const recorder = new MediaRecorder(canvas.captureStream(), {mimeType: 'video/webm'});
const parts = [];
recorder.ondataavailable = ({data}) => parts.push(data);
const stopped = new Promise((done) => recorder.onstop = done);
recorder.start();
for (let frame = 1; frame < 20; frame++) {
    await new Promise(requestAnimationFrame);
    draw(frame * 18);
}
recorder.stop();
await stopped;
return [await encoded(still), await encoded(new Blob(parts))];
"""

# Writes each state of the button that plays a movie into the button.
_WATCH = """
const button = document.querySelector('dialog [aria-pressed]');
new MutationObserver((changes) => {
    const before = changes.map(({oldValue}) => oldValue).slice(1);
    const states = [button.dataset.pressed, ...before, button.getAttribute('aria-pressed')];
    button.dataset.pressed = states.filter(Boolean).join();
}).observe(button, {attributeFilter: ['aria-pressed'], attributeOldValue: true});
"""

# The movies in the viewer, and whether it shows the picture.
_STAGE = """
const stage = document.querySelector('dialog .stage');
const movies = [...stage.querySelectorAll('video')].map((video) => video.ariaLabel);
return [movies, getComputedStyle(stage.querySelector('.picture')).display];
"""

# Plays a movie that does not go on to its end.
_PAUSED = f"""
document.querySelector('dialog [aria-pressed]').click();
document.querySelector('dialog video').pause();
{_STAGE}
"""

# What has the focus: the name in the row.
_FOCUSED = "return document.activeElement.closest('.entry')?.querySelector('bdi').textContent"


class LivePhotoTests(Page, BrowserCase):
    kind = Chromium
    rights = ("--allow-remove",)

    still: ClassVar[bytes]
    movie: ClassVar[bytes]

    @classmethod
    def setUpClass(cls) -> None:
        super().setUpClass()
        cls.still, cls.movie = (base64.b64decode(text) for text in cls.browser.run(_MEDIA))

    def setUp(self) -> None:
        # The errors of an earlier test are not those of this one.
        self.browser.complaints()
        self.folder = self.id().rpartition(".")[2]

    def tearDown(self) -> None:
        # A file may go while its picture is fetched.
        self.assertEqual([line for line in self.browser.complaints() if "Failed to load resource" not in line], [])

    def put(self, *names: str) -> None:
        for name in names:
            content = {"JPG": self.still, "MOV": self.movie}.get(name.rpartition(".")[2], name.encode())
            self.assertEqual(self.ask("PUT", f"/{self.folder}/{quote(name)}", {}, content).status, 201, name)

    def remove(self, name: str) -> None:
        self.assertEqual(self.ask("DELETE", f"/{self.folder}/{quote(name)}").status, 204, name)
        # The page hears of new files only, and reads the list again after a while in the background.
        self.browser.run("document.dispatchEvent(new Event('visibilitychange'))")

    def stored(self, below: str = "") -> list[str]:
        return sorted(path.name for path in (self.server.directory / self.folder / below).iterdir())

    def show_grid(self, *names: str) -> None:
        """Shows the files of the folder as tiles with these names."""
        self.open(f"{self.folder}/")
        self.until_there(".entry bdi:not(:empty)")
        self.browser.run("document.querySelector('.tools > button.plain').click()")
        self.until_there(".cards .entries .entry")
        self.until_names(*names)
        self.browser.run("localStorage.removeItem('transfer.cards')")

    def focus(self, name: str) -> None:
        """Gives the focus to a tile."""
        rows = "[...document.querySelectorAll('.entry')]"
        self.browser.run(f"{rows}.find((row) => row.querySelector('bdi')?.textContent === arguments[0]).focus()", name)
        self.assertEqual(self.browser.run(_FOCUSED), name)

    def press_focused(self, keys: str) -> None:
        self.browser.type(self.browser.find(".entry:focus"), keys)

    def press_stage(self, keys: str) -> None:
        self.browser.type(self.browser.find("dialog .stage"), keys)

    def until_played(self) -> None:
        """Waits until a movie has begun and ended, after which the picture is there again."""
        self.until_there("dialog [data-pressed='true,false']")
        self.assertEqual(self.browser.run(_STAGE), [[], "block"])
        self.browser.run("delete document.querySelector('dialog [data-pressed]').dataset.pressed")

    def test_a_pair_is_one_tile_and_two_rows(self) -> None:
        self.put("a.HEIC", "a.JPG", "a.MOV", "b.MOV", "c.JPG", "c.MOV")
        self.show_grid("a.HEIC", "a.JPG", "b.MOV", "c.JPG")
        self.until("2 files, ", "6 files")
        self.assertEqual(self.browser.run("return document.querySelectorAll('.face .live').length"), 2)
        # The tile of a HEIC shows a frame of the movie where the browser cannot show the picture.
        self.until_there(".entry:has(a[href$='a.HEIC']) .face:has(.live) canvas:not([hidden])")
        self.until_there(".entry:has(a[href$='c.JPG']) .face:has(.live) img:not([hidden])")
        self.browser.run("document.querySelector('.tools > button.plain').click()")
        self.until_names("a.HEIC", "a.JPG", "a.MOV", "b.MOV", "c.JPG", "c.MOV")
        self.assertEqual(self.browser.run("return document.querySelectorAll('.live').length"), 0)
        self.until("6 files", without="2 files")

    def test_a_tile_is_selected_with_both_files(self) -> None:
        self.put("a.JPG", "a.MOV", "b.txt")
        self.show_grid("a.JPG", "b.txt")
        self.focus("a.JPG")
        self.press_focused(" ")
        self.until("2 selected")
        links = "return [...document.querySelectorAll('.chosen a[download]')]"
        self.assertEqual(self.browser.run(f"{links}.map((link) => link.download)"), ["a.JPG", "a.MOV"])
        labels = self.browser.run(f"{links}.map((link) => link.getAttribute('aria-label'))")
        self.assertEqual(labels, ["Download a.JPG", "Download a.MOV"])
        self.press_focused(_DELETE)
        self.until_names("b.txt")
        self.until("Removed 2 entries to the trash.")
        self.assertEqual(self.stored(), ["b.txt"])
        self.press_button("Undo")
        self.until_names("a.JPG", "b.txt")
        self.until("Undone for 2 entries.")
        self.assertEqual(self.stored(), ["a.JPG", "a.MOV", "b.txt"])

    def test_a_tile_is_renamed_with_both_files(self) -> None:
        self.put("a.JPG", "a.MOV", "b.MOV")
        self.show_grid("a.JPG", "b.MOV")
        self.focus("a.JPG")
        self.press_focused(_F2)
        self.until("Rename a (2 files)")
        self.assertEqual(self.browser.run("return document.querySelector('dialog input').value"), "a")
        self.browser.run("document.querySelector('dialog input').value = 'b'")
        self.browser.type(self.browser.find("dialog input"), _ENTER)
        # The picture would be joined with another movie if it alone took the name.
        self.until("names are taken there")
        self.browser.click(self.browser.find("dialog .primary"))
        self.until_names("b-1.JPG", "b.MOV")
        self.until("Renamed 2 files.")
        self.assertEqual(self.stored(), ["b-1.JPG", "b-1.MOV", "b.MOV"])
        self.assert_stored(f"{self.folder}/b-1.MOV", self.movie)
        self.press_button("Undo")
        self.until_names("a.JPG", "b.MOV")
        self.assertEqual(self.stored(), ["a.JPG", "a.MOV", "b.MOV"])

    def test_a_tile_is_moved_and_restored_with_both_files(self) -> None:
        self.put("a.JPG", "a.MOV")
        self.ask("POST", "/.transfer/changes", {"Content-Type": "application/json"},
                 b'[{"change": "mkdir", "path": "%s/sub"}]' % self.folder.encode())
        self.show_grid("a.JPG", "sub")
        self.focus("a.JPG")
        self.press_focused(" ")
        self.until("2 selected")
        self.press_button("Move…")
        self.until("Move 2 entries to")
        self.until_there("dialog .folders bdi")
        self.press_button("sub")
        self.until(f"/{self.folder}/sub")
        self.press_button("Move here")
        self.until_names("sub")
        self.assertEqual(self.stored("sub"), ["a.JPG", "a.MOV"])
        self.press_button("Undo")
        self.until_names("a.JPG", "sub")
        self.focus("a.JPG")
        self.press_focused(_DELETE)
        self.until_names("sub")
        # The old picture would be joined with the new movie.
        self.put("a.MOV")
        self.open("#trash")
        self.until_there(".trash details")
        # Other tests may have removed something in the same second.
        self.browser.run("document.querySelectorAll('.trash details').forEach((batch) => batch.open = true)")
        self.until_there(f".trash [aria-label='Restore {self.folder}']")
        self.browser.click(self.browser.find(f".trash [aria-label='Restore {self.folder}']"))
        self.until("names are taken there")
        self.press_button("Keep both")
        self.until("Restored 2 entries.")
        self.assertEqual(self.stored(), ["a-1.JPG", "a-1.MOV", "a.MOV", "sub"])

    def test_a_movie_is_shown_alone_by_its_address(self) -> None:
        self.put("a.JPG", "a.MOV", "b.txt")
        self.show_grid("a.JPG", "b.txt")
        self.browser.run("location.hash = '#view=a.MOV'")
        self.until_there("dialog video[controls][aria-label='a.MOV']")
        self.until("a.MOV", "1 of 2")
        self.press_stage(_RIGHT)
        self.until("2 of 2")
        self.assertEqual(self.browser.run("return location.hash"), "#view=b.txt")

    def test_the_viewer_plays_the_movie_in_the_place_of_the_picture(self) -> None:
        self.put("a.JPG", "a.MOV", "b.txt")
        self.show_grid("a.JPG", "b.txt")
        self.focus("a.JPG")
        self.press_focused(_ENTER)
        self.until_there("dialog .frame img")
        self.until("1 of 2")
        links = "return [...document.querySelectorAll('dialog a[download]')]"
        self.assertEqual(self.browser.run(f"{links}.map((link) => link.download)"), ["a.JPG", "a.MOV"])
        self.browser.run(_WATCH)
        self.browser.click(self.browser.find("dialog [aria-pressed]"))
        self.until_played()
        self.press_stage("l")
        self.until_played()
        self.assertEqual(self.browser.run(_PAUSED), [["a.MOV"], "none"])
        self.press_stage("l")
        self.assertEqual(self.browser.run(_STAGE), [[], "block"])
        self.press_stage(_RIGHT)
        self.until("2 of 2")
        self.until_there("dialog [aria-pressed][hidden]")
        self.assertEqual(self.browser.run("return location.hash"), "#view=b.txt")
        self.press_stage(_ESCAPE)
        self.until_there(".entry:focus a[href$='/b.txt']")

    def test_files_that_come_and_go_join_and_part_without_moving_the_focus(self) -> None:
        self.put("b.JPG", "c.txt")
        self.show_grid("b.JPG", "c.txt")
        self.focus("b.JPG")
        self.press_focused(" ")
        self.until("1 selected")
        # A file that joins is not selected by that.
        self.put("a.txt", "b.MOV")
        self.until_names("a.txt", "b.JPG", "c.txt")
        self.until("2 files, ", "1 selected")
        self.assertEqual(self.browser.run(_FOCUSED), "b.JPG")
        self.until_there(".entry:focus[aria-selected=true] input:indeterminate")
        self.press_focused(" ")
        self.until("2 selected")
        self.remove("b.JPG")
        self.until_names("a.txt", "b.MOV", "c.txt")
        self.until("1 selected")
        self.assertEqual(self.browser.run(_FOCUSED), "b.MOV")
        self.put("b.JPG")
        self.until_names("a.txt", "b.JPG", "c.txt")
        self.assertEqual(self.browser.run(_FOCUSED), "b.JPG")
        self.until("1 selected")

    def test_a_key_acts_on_the_file_that_had_the_focus(self) -> None:
        self.put("b.txt", "c.txt")
        self.open(f"{self.folder}/")
        self.until_names("b.txt", "c.txt")
        self.focus("c.txt")
        # Another client stores one above.
        self.put("a.txt")
        self.until_names("a.txt", "b.txt", "c.txt")
        self.assertEqual(self.browser.run(_FOCUSED), "c.txt")
        self.press_focused(_DELETE)
        self.until_names("a.txt", "b.txt")
        self.focus("b.txt")
        self.remove("a.txt")
        self.until_names("b.txt")
        self.assertEqual(self.browser.run(_FOCUSED), "b.txt")
