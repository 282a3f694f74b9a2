"""Against the real server: the page in browsers, from the sign-in to files that are checked, moved, removed and restored."""

from __future__ import annotations

from web.peers.browsers import Chromium, Firefox, WebKit
from web.peers.page import BrowserCase, Page, dropped

# Keys (WebDriver, section 17.4.2).
_ENTER, _DELETE, _F2, _RIGHT = "\ue007", "\ue017", "\ue032", "\ue014"


class Cases:
    """Hides the base class, so that it is not collected as a test."""

    class PageCase(Page, BrowserCase):
        rights = ("--allow-remove",)
        # A server that is killed before its answer arrives keeps an upload that the page does not know.
        leaves_uploads = True

        def setUp(self) -> None:
            # The errors of an earlier test are not those of this one.
            self.browser.complaints()

        def test_dropped_files_are_checked(self) -> None:
            self.ask("PUT", "/up/taken.bin", {}, b"other")
            self.open("up/")
            self.until("taken.bin")
            files = (("small \u4f60 & <b>.txt", 1000), ("large.bin", 9 << 20), ("taken.bin", 2000))
            self.drop(*files)
            self.until("Checked", "Keep both")
            self.press_button("Keep both")
            self.until("3 of 3 stored", "taken-1.bin")
            self.assertEqual(self.text.count("Checked, stored as"), 3)
            for name, size in files:
                stored = "taken-1.bin" if name == "taken.bin" else name
                self.assert_stored(f"up/{stored}", dropped(name, size))
                modified = (self.server.directory / "up" / stored).stat().st_mtime_ns
                self.assertEqual(modified, 1700000000_123_000_000, name)
            self.assert_stored("up/taken.bin", b"other")
            # What is there already is not sent again.
            self.open("up/")
            self.until("large.bin")
            self.drop(files[1])
            self.until("was stored already")
            self.assert_quiet()

        def test_many_small_files(self) -> None:
            self.ask("PUT", "/many/first", {}, b"1")
            self.open("many/")
            self.until("first")
            self.drop(*((f"{number:03}.txt", 400) for number in range(150)))
            self.until("150 of 150 stored")
            self.assertEqual(len(list((self.server.directory / "many").iterdir())), 151)
            self.assert_stored("many/149.txt", dropped("149.txt", 400))
            self.assert_quiet()

        def test_names_are_changed_by_keys(self) -> None:
            for name in ("a.txt", "b.txt"):
                self.ask("PUT", f"/keys/{name}", {}, name.encode())
            self.open("keys/")
            self.until("a.txt", "b.txt")
            self.press(_F2)
            self.until("Rename")
            self.browser.run("document.querySelector('dialog input').value = 'c.txt'")
            self.browser.type(self.browser.find("dialog input"), _ENTER)
            self.until("c.txt", without="a.txt")
            self.assert_stored("keys/c.txt", b"a.txt")
            self.until_names("b.txt", "c.txt")
            self.browser.run("[...document.querySelectorAll('.entry')].find(row => row.textContent.includes('c.txt')).focus()")
            self.browser.type(self.browser.find(".entry:focus"), _DELETE)
            self.until_names("b.txt")
            self.assertFalse((self.server.directory / "keys/c.txt").exists())
            self.press_button("Undo")
            self.until_names("b.txt", "c.txt")
            self.assert_stored("keys/c.txt", b"a.txt")
            self.assert_quiet()

        def test_folders_are_walked_without_leaving_the_page(self) -> None:
            self.ask("PUT", "/walk/%25%23/deep.txt", {}, b"deep")
            self.open("walk/")
            self.until("%#")
            self.browser.run("window.stays = true")
            self.press(_ENTER)
            self.until("deep.txt")
            self.assertEqual(self.browser.run("return [location.pathname, window.stays]"), ["/walk/%25%23/", True])
            self.browser.run("history.back()")
            self.until("%#", without="deep.txt")
            self.assert_quiet()

        def test_files_are_looked_at(self) -> None:
            for name in ("a.txt", "b.txt"):
                self.ask("PUT", f"/look/{name}", {}, f"content of {name}".encode())
            self.open("look/")
            self.until("a.txt", "b.txt")
            self.press(_ENTER)
            self.until("content of a.txt")
            self.browser.type(self.browser.find("dialog .stage"), _RIGHT)
            self.until("content of b.txt", without="content of a.txt")
            self.browser.type(self.browser.find("dialog .stage"), "i")
            self.until("Digest", "xxh128:", "Sent by")
            self.assertEqual(self.browser.run("return location.hash"), "#view=b.txt")
            self.browser.run("history.back()")
            self.until("b.txt", without="content of")
            self.until_there(".entry:focus a[href$='/b.txt']")
            self.assert_quiet()

        def test_what_is_pushed_appears(self) -> None:
            self.ask("PUT", "/live/one.txt", {}, b"1")
            self.open("live/")
            self.until("one.txt")
            self.ask("PUT", "/live/two.txt", {}, b"2")
            self.until("two.txt")
            self.assert_quiet()

        def test_an_error_is_a_page(self) -> None:
            for path in ("nothing", "nothing/"):
                self.open(path)
                self.until("Nothing is here")
                self.assertNotIn("{", self.text)

        def test_it_goes_on_with_the_next_server(self) -> None:
            self.ask("PUT", "/next/first", {}, b"1")
            self.open("next/")
            self.until("first")
            files = [(f"{number}.bin", 40 << 20) for number in range(3)]
            self.drop(*files)
            while not self.server.unfinished:
                self.assertNotIn("3 of 3 stored", self.text)
            self.server.kill()
            self.server.start()
            self.until("3 of 3 stored")
            self.assertEqual(self.text.count("Checked, stored as"), 3)
            for name, size in files:
                self.assert_stored(f"next/{name}", dropped(name, size))

class ChromiumTests(Cases.PageCase):
    kind = Chromium


class FirefoxTests(Cases.PageCase):
    kind = Firefox


class WebKitTests(Cases.PageCase):
    kind = WebKit


class WriteOnlyTests(Cases.PageCase):
    """A sign-in that may only send."""

    kind = Chromium
    rights = ("--write-only",)

    # The other walks need to read.
    test_many_small_files = test_names_are_changed_by_keys = test_what_is_pushed_appears = None  # type: ignore[assignment]
    test_folders_are_walked_without_leaving_the_page = test_it_goes_on_with_the_next_server = None  # type: ignore[assignment]
    test_an_error_is_a_page = test_files_are_looked_at = None  # type: ignore[assignment]

    def test_dropped_files_are_checked(self) -> None:
        self.ask("PUT", "/secret.txt", {}, b"secret")
        self.open("")
        self.until("Send files")
        self.drop(("a.bin", 5 << 20))
        self.until("1 of 1 stored", "Checked, stored as")
        self.assertNotIn("secret", self.text)
        self.assert_stored("a.bin", dropped("a.bin", 5 << 20))
        self.assert_quiet()

