"""The page in a browser: how a walk signs in, opens folders, drops files, presses keys, and waits for what it shows."""

from __future__ import annotations

from typing import ClassVar

from web.peers.browsers import Browser, Chromium, Firefox, WebKit
from web.peers.case import PeerCase
from web.peers.proxy import Proxy
from web.server import WebServer

# Makes files as a user drops them. Their content follows from their names and sizes.
_DROP = """
const [files] = arguments;
const transfer = new DataTransfer();
for (const [name, size] of files) {
    const content = new Uint32Array(size / 4);
    let value = [...name].reduce((sum, letter) => sum * 31 + letter.codePointAt(0) >>> 0, 7);
    for (let index = 0; index < content.length; index++) content[index] = value = value * 1664525 + 1013904223 >>> 0;
    transfer.items.add(new File([content], name, {lastModified: 1700000000123}));
}
document.body.dispatchEvent(new DragEvent('drop', {dataTransfer: transfer, bubbles: true, cancelable: true}));
"""

# Clicks the last visible button with these words.
_CLICK = """
const [words] = arguments;
const named = (button) => [button.textContent, button.ariaLabel].some((name) => name?.trim().startsWith(words));
const found = [...document.querySelectorAll('button')].findLast((button) => button.checkVisibility() && named(button));
found?.click();
return found !== undefined;
"""

# Waits until a condition holds. Every change of the document is a reason to look again.
_UNTIL = """
const [condition, ...values] = arguments;
const conditions = {
    text: (parts, without) => {
        const text = document.body.innerText;
        return parts.every((part) => text.includes(part)) && !(without && text.includes(without));
    },
    // The page reuses the elements of rows, in any order.
    names: (names) => [...document.querySelectorAll('.entry bdi')].map((name) => name.textContent).sort().join('/') === names,
    element: (selector) => document.querySelector(selector),
    uploaded: () => /^(\\d+) of \\1 stored/.test(document.querySelector('.uploads .fold')?.textContent),
};
return new Promise((resolve) => {
    const look = () => conditions[condition](...values) && end(true);
    const observer = new MutationObserver(look);
    const timer = setTimeout(() => end(false), 25_000);
    const end = (holds) => {
        observer.disconnect();
        clearTimeout(timer);
        resolve(holds);
    };
    observer.observe(document, {attributes: true, childList: true, characterData: true, subtree: true});
    look();
});
"""


def sign_in(browser: Browser, server: WebServer, *rights: str, name: str = "ann") -> None:
    """Signs a browser in by a link for one browser, whose page has one button."""
    address = link(server, *rights, name=name)
    browser.open(address)
    browser.click(browser.find("button"))
    # WebKit's driver does not wait for the page to which a button leads, and takes its end for that of the next page.
    while not _is(browser, "location.href !== arguments[0] && document.readyState === 'complete'", address):
        pass
    browser.open(f"{origin(server)}/healthz")
    while not _is(browser, "location.pathname === '/healthz' && document.readyState === 'complete'"):
        pass


def _is(browser: Browser, condition: str, *values: object) -> bool:
    try:
        return bool(browser.run(f"return {condition}", *values))
    except AssertionError as error:
        # The page was left while it was asked.
        if "no such frame" not in str(error):
            raise
        return False


def link(server: WebServer, *rights: str, name: str = "ann") -> str:
    """Makes a link that signs one browser in."""
    return next(word for word in invitation(server, *rights, name=name).split() if word.startswith(origin(server)))


def invitation(server: WebServer, *options: str, name: str) -> str:
    """What is printed for the user of a browser."""
    command = ["access", "pair", "--web", "--dir", str(server.directory), "--name", name, "--url", origin(server), *options]
    return server.transfer(*command).stdout.decode()


def origin(server: WebServer) -> str:
    """The address under which browsers know a server."""
    return f"https://localhost:{server.front_port or server.web_port}"


class Page:
    """The page of one server in one browser. A test case can be a page as well."""

    browser: Browser
    server: WebServer

    def open(self, path: str) -> None:
        self.browser.open(f"{origin(self.server)}/{path}")

    @property
    def text(self) -> str:
        return str(self.browser.run("return document.body.innerText"))

    def holds(self, condition: str, *values: object) -> bool:
        # A browser ends a script after 30 seconds.
        return any(self.browser.run(_UNTIL, condition, *values) for _ in range(3))

    def until(self, *parts: str, without: str = "") -> None:
        """Waits until the page shows all of these texts."""
        if not self.holds("text", list(parts), without):
            raise AssertionError(f"the page does not show {parts}, but:\n{self.text[:2000]}")

    def until_names(self, *names: str) -> None:
        """Waits until the list has exactly these names, which are sorted."""
        if not self.holds("names", "/".join(names)):
            raise AssertionError(f"the page does not list {names}, but:\n{self.text[:2000]}")

    def until_there(self, selector: str) -> None:
        """Waits until the document has an element."""
        if not self.holds("element", selector):
            raise AssertionError(f"the page has no {selector}, but:\n{self.text[:2000]}")

    def until_uploaded(self) -> None:
        """Waits until each upload that the page shows is stored."""
        if not self.holds("uploaded"):
            raise AssertionError(f"the page has not stored all files, but shows:\n{self.text[:2000]}")

    def drop(self, *files: tuple[str, int]) -> None:
        """Drops files, each with a name and a size that is a multiple of four."""
        # What takes them is loaded behind the list.
        self.until_there(".uploads")
        self.browser.run(_DROP, [list(file) for file in files])

    def press_button(self, words: str) -> None:
        """Clicks the last visible button whose text or label begins with these words."""
        if not self.browser.run(_CLICK, words):
            raise AssertionError(f"the page has no button {words!r}, but:\n{self.text[:2000]}")

    def press(self, keys: str) -> None:
        """Presses keys in the row that has the focus, or would get it."""
        self.browser.type(self.browser.find(".entry[tabindex='0']"), keys)


def dropped(name: str, size: int) -> bytes:
    """The content of a file that `Page.drop` makes."""
    value = 7
    for letter in name:
        value = value * 31 + ord(letter) & 0xFFFFFFFF
    content = bytearray()
    for _ in range(size // 4):
        value = value * 1664525 + 1013904223 & 0xFFFFFFFF
        content += value.to_bytes(4, "little")
    return bytes(content)


class BrowserCase(PeerCase):
    """Tests in a browser that is signed in, and that accepts the certificate, as after a comparison of the fingerprint."""

    kind: ClassVar[type[Chromium | Firefox | WebKit]]
    # Programs that are needed besides the browser.
    tools: ClassVar[tuple[str, ...]] = ()
    # Rights of the browser, as options of `transfer access pair`.
    rights: ClassVar[tuple[str, ...]] = ()
    browser: ClassVar[Browser]

    @classmethod
    def setUpClass(cls) -> None:
        cls.needs = (*cls.kind.needs, *cls.tools)
        super().setUpClass()
        if cls.kind is WebKit:
            # Under its driver, it waits for ever where a server asks for a certificate of the client, as this one does.
            proxy = Proxy(cls.server, "nginx", buffers=False)
            cls.addClassCleanup(proxy.close)
            cls.server.front_port = proxy.port
        cls.browser = cls.begin_browser()
        cls.addClassCleanup(cls.browser.close)
        cls.begin_session()

    @classmethod
    def begin_session(cls) -> None:
        sign_in(cls.browser, cls.server, *cls.rights)

    @classmethod
    def begin_browser(cls) -> Browser:
        return cls.kind(cls.server.path / "browser", cls.server.environment())

    def assert_quiet(self) -> None:
        """The console has no errors, and each use of something that the policy forbids is an error. Pages that are no folder
        have no icon, so browsers may ask for one."""
        self.assertEqual([line for line in self.browser.complaints() if "/favicon.ico" not in line], [])
