"""Uploads by the page in Chromium, while the server and the browser are killed and the tab is reloaded. The page
retries by itself; after a reload, the same files are dropped again."""

from __future__ import annotations

import os
import random
import shutil
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from web.peers.browsers import Chromium
from web.peers.page import Page

from .content import digest
from .ledger import Stored, problems_of_single_names
from .program import PATIENCE, Broken, Server, free_port
from .tally import Tally

SERVER, TAB, BROWSER = "server", "tab", "browser"

# What a blow strikes, with weights.
_VICTIMS = [((SERVER,), 6), ((TAB,), 2), ((SERVER, TAB), 2), ((BROWSER,), 1)]

# Bytes up to which the page sends files together in forms, and up to which a file travels in one request.
_FORM = 256 << 10
_WHOLE = 8 << 20
_LONGEST = 40 << 20

_NAMES = ("{}.txt", "two words {}", "照片 {}.bin", "\"quoted\" {}", "a&b <{}>#%23?.x", ".hidden-{}", "é-{}.tar.gz")

# States in which the server has a file, and those that the page leaves by itself. Uploads of an earlier page go on when
# their files are dropped again.
_FINISHED = ("checked", "same")
_OPEN = ("waiting", "looking", "reading", "sending", "storing", "choose")

# State of a file that the server stored for an earlier page and knows by another digest after a kill. The user decides.
_LIKELY = "likely"

# The beginnings of what the page says about a file.
_STORED_AS = "Checked, stored as "
_LOST = "The connection was lost"

# Takes each row. Only the visible ones have elements, so the list is scrolled.
_EACH = """
const list = document.querySelector(".uploads .rows");
const each = (use) => {
    for (let top = 0; list; top += 200) {
        list.scrollTop = top;
        list.dispatchEvent(new Event("scroll"));
        for (const row of list.querySelectorAll(".row")) use(row);
        if (top + list.clientHeight >= list.scrollHeight) break;
    }
};
"""

# State, path and sentence of all rows.
_ROWS = _EACH + """
const rows = [];
each((row) => {
    const [name, words] = [row.querySelector(".name"), row.querySelector(".state")];
    rows[row.getAttribute("aria-posinset") - 1] = [row.dataset.state, name.title, words.textContent];
});
return rows;
"""

# Presses the first button of each row that is in a state.
_PRESS = _EACH + """
each((row) => row.dataset.state === arguments[0] && row.querySelector(".actions button").click());
"""

# The first number of "3 of 30 stored", and whether anything still goes on by itself.
_PROGRESS = """
const fold = document.querySelector(".uploads .fold"), pause = document.querySelector(".uploads .actions button");
return [parseInt(fold?.textContent) || 0, pause !== null && !pause.hidden];
"""

# Counts the uploads that an earlier page has left, and that this one can show.
_LEFT = """
const database = await new Promise((resolve, reject) => {
    const request = indexedDB.open("transfer", 1);
    request.onupgradeneeded = () => request.result.createObjectStore("uploads", {keyPath: "key"});
    request.onsuccess = () => resolve(request.result);
    request.onerror = reject;
});
const records = await new Promise((resolve, reject) => {
    const request = database.transaction("uploads").objectStore("uploads").getAll();
    request.onsuccess = () => resolve(request.result);
    request.onerror = reject;
});
database.close();
return records.filter(({handle, address}) => handle || address).length;
"""


@dataclass(frozen=True)
class PageBlow:
    """Strikes when the server has a share of the bytes, or the page shows a share of the files as stored."""

    victims: tuple[str, ...]
    share: float
    counts_files: bool
    # Whether the server starts again only after the page has noticed its end.
    is_noticed: bool

    @staticmethod
    def make(source: random.Random) -> PageBlow:
        victims = source.choices([who for who, _ in _VICTIMS], [weight for _, weight in _VICTIMS])[0]
        return PageBlow(victims, source.random(), source.random() < 0.4, source.random() < 0.3)


@dataclass(frozen=True)
class PagePlan:
    """One round, decided by its seed alone."""

    # Names, with a folder before some of them, and sizes.
    files: tuple[tuple[str, int], ...]
    blows: tuple[PageBlow, ...]

    @staticmethod
    def make(source: random.Random) -> PagePlan:
        sizes = [_small(source) for _ in range(source.randint(20, 60))]
        sizes += [source.randint(_FORM + 1, _WHOLE) for _ in range(source.randint(0, 4))]
        sizes += [source.randint(_WHOLE + 1, _LONGEST) for _ in range(source.randint(1, 3))]
        source.shuffle(sizes)
        folder = source.choice(["", "", "a folder/"])
        files = []
        for number, size in enumerate(sizes):
            name = source.choice(_NAMES).format(number)
            files.append((folder + name if source.random() < 0.5 else name, size))
        blows = sorted((PageBlow.make(source) for _ in range(source.randint(1, 5))), key=lambda blow: blow.share)
        return PagePlan(tuple(files), tuple(blows))

    @property
    def size(self) -> int:
        return sum(size for _, size in self.files)


def _small(source: random.Random) -> int:
    return source.choice([0, 1, _FORM - 1, _FORM, source.randrange(2, 5000), source.randrange(2, _FORM)])


def _begin(directory: Path) -> Chromium:
    """Starts a browser without the user's settings."""
    return Chromium(directory, {name: value for name, value in os.environ.items() if not name.startswith("XDG_")})


class PageRounds(Page):
    """A server directory, a browser, and everything that was ever dropped on the page."""

    browser: Chromium

    def __init__(self, transfer: Path, directory: Path, tally: Tally, show: Callable[[str], None]) -> None:
        shutil.rmtree(directory, ignore_errors=True)
        (directory / "store").mkdir(parents=True)
        self.directory = directory
        self._tally = tally
        self._show = show
        self._stored = Stored(directory / "store")
        port, flags = free_port(random.Random()), ("--plaintext", "--http", "on")
        self._server = Server(transfer, directory / "store", directory / "server.log", port, flags=flags)
        # The digests of all dropped content, and of the content that the page has called stored, by path.
        self._dropped: dict[str, str] = {}
        self._acknowledged: dict[str, str] = {}
        # The folder and the victims of this round.
        self._folder = ""
        self._struck: set[str] = set()

    @staticmethod
    def missing() -> str | None:
        """Why there are no rounds, or None."""
        if absent := [name for name in Chromium.needs if not shutil.which(name)]:
            return f"{absent[0]} is not there"
        # Not every container lets a browser start.
        with tempfile.TemporaryDirectory() as place:
            try:
                _begin(Path(place)).close()
            except AssertionError as error:
                return f"Chromium does not start here: {error}"
        return None

    def close(self) -> None:
        """Ends the browser and the server, and leaves the directory."""
        if hasattr(self, "browser"):
            self.browser.kill()
            del self.browser
        self._server.abandon()

    def play(self, number: int, plan: PagePlan, source: random.Random) -> None:
        """Plays one round. Raises Broken if a promise is broken."""
        if not self._server.starts:
            self._server.start()
            self._begin_browser()
        self._folder = f"r{number}"
        self._struck.clear()
        (self._server.directory / self._folder).mkdir()
        tops = self._make(plan, source)
        try:
            self._open()
            self.browser.drop(*tops)
            for blow in plan.blows:
                self._wait_for(blow, plan)
                self._strike(blow, tops)
            self._finish(plan)
        except AssertionError as error:
            raise Broken(str(error)) from error
        shutil.rmtree(self.directory / "source")
        self._tally.pages["rounds"] += 1
        self._tally.pages["files"] += len(plan.files)
        self._tally.memory = max(self._tally.memory, self._server.memory)

    def end(self) -> None:
        """After the last round, reads everything once more, from a server that has just started."""
        self._server.kill()
        self._server.start()
        self._look(afresh=True)
        self.browser.close()
        del self.browser
        self._server.stop()
        if words := self._server.strange_words():
            raise Broken(f"the server said: {words[0]}")

    # The browser

    def _begin_browser(self) -> None:
        self.browser = _begin(self.directory / "browser")

    def _open(self) -> None:
        self.browser.open(f"http://127.0.0.1:{self._server.port}/{self._folder}/")
        self.until_there(".uploads")

    def _make(self, plan: PagePlan, source: random.Random) -> list[Path]:
        """Makes the files. Returns the paths to drop."""
        top = self.directory / "source"
        for name, size in plan.files:
            data = source.randbytes(size)
            (top / name).parent.mkdir(parents=True, exist_ok=True)
            (top / name).write_bytes(data)
            self._dropped[f"{self._folder}/{name}"] = digest(data)
        return sorted(top.iterdir())

    def _rows(self) -> list[list[str]]:
        found: list[list[str] | None] = self.browser.run(_ROWS)
        return [row for row in found if row is not None]

    def _progress(self) -> tuple[int, bool]:
        """How many files the page shows as stored, and whether it goes on by itself."""
        found: tuple[int, bool] = self.browser.run(_PROGRESS)
        return found

    # Blows

    def _wait_for(self, blow: PageBlow, plan: PagePlan) -> None:
        """Waits for the moment of a blow, or for the end of the uploads."""
        def is_there() -> bool:
            stored, is_busy = self._progress()
            if not is_busy and self._is_over(plan):
                return True
            if blow.counts_files:
                return stored >= blow.share * len(plan.files)
            return self._bytes() >= blow.share * plan.size

        self._until(is_there, "the page does not go on")

    def _until(self, happened: Callable[[], bool], otherwise: str) -> None:
        """Waits. Each condition asks the browser, which takes some milliseconds."""
        deadline = time.monotonic() + PATIENCE
        while not happened():
            if time.monotonic() > deadline:
                raise Broken(f"{otherwise}: {self._unfinished()}")

    def _unfinished(self) -> list[list[str]]:
        return [row for row in self._rows() if row[0] not in _FINISHED][:5]

    def _bytes(self) -> int:
        """Bytes of this round that the server has, of complete files and of parts."""
        store = self._server.directory
        found = 0
        for folder in (store / ".transfer" / "incoming", store / self._folder):
            for path in folder.rglob("*"):
                try:
                    found += path.stat().st_size
                except FileNotFoundError:
                    # The upload has just become complete.
                    continue
        return found

    def _strike(self, blow: PageBlow, tops: list[Path]) -> None:
        self._show(f"strike {' and '.join(blow.victims)}: {blow}")
        self._note()
        self._struck.update(blow.victims)
        for victim in blow.victims:
            self._tally.pages[f"blows to the {victim}"] += 1
        if SERVER in blow.victims:
            self._server.kill()
            if blow.is_noticed and TAB not in blow.victims and self._progress()[1]:
                self._until(self._has_noticed, "the page does not notice the end of the server")
            self._server.start()
        if BROWSER in blow.victims:
            self.browser.kill()
            self._begin_browser()
            self._open()
        elif TAB in blow.victims:
            self.browser.reload()
            self.until_there(".uploads")
        if blow.victims != (SERVER,):
            left: int = self.browser.run(_LEFT)
            self._tally.pages["uploads left by an earlier page"] += left
            self._until(lambda: len(self._rows()) >= left, f"the page does not show {left} earlier uploads")
            self.browser.drop(*tops)
        self._look()

    def _has_noticed(self) -> bool:
        """Whether the page says that it has lost the server, or had just become ready, so that it misses nothing."""
        rows = self._rows()
        return any(words.startswith(_LOST) for _, _, words in rows) or all(state not in _OPEN for state, _, _ in rows)

    # Promises

    def _note(self) -> None:
        """Notes which files the page calls stored."""
        for state, path, words in self._rows():
            if state == "checked" and words != _STORED_AS + path:
                raise Broken(f"{path!r} is stored elsewhere: {words!r}")
            if state in _FINISHED:
                self._acknowledged[path] = self._dropped[path]

    def _finish(self, plan: PagePlan) -> None:
        """Waits until nothing goes on by itself: then every file must be stored, and each row must say so."""
        self._until(lambda: self._is_over(plan), "the page does not end")
        if TAB in self._struck or BROWSER in self._struck:
            self._send_anyway()
            self._until(lambda: self._is_over(plan), "the page does not end")
        rows = self._rows()
        if rest := self._unfinished():
            raise Broken(f"not stored although nothing more was in the way: {rest}")
        if len(rows) != len(plan.files):
            raise Broken(f"{len(plan.files)} files were dropped, and {len(rows)} rows say that they are stored")
        self._note()
        self._tally.pages["checked"] += sum(state == "checked" for state, _, _ in rows)
        if absent := [path for path in self._dropped if path not in self._acknowledged]:
            raise Broken(f"dropped, and not in the list: {absent[0]!r}")
        self._look()

    def _is_over(self, plan: PagePlan) -> bool:
        """Whether the page has a row for each file, and leaves none of these states by itself."""
        rows = self._rows()
        return len(rows) >= len(plan.files) and all(state not in _OPEN for state, _, _ in rows)

    def _send_anyway(self) -> None:
        """Lets the page send what it has held back, because it looks like a stored file."""
        held = sum(state == _LIKELY for state, _, _ in self._rows())
        self._tally.pages["sent anyway"] += held
        self.browser.run(_PRESS, _LIKELY)

    def _look(self, afresh: bool = False) -> None:
        """Checks that every file that the page has called stored is in place, and no file except whole dropped ones."""
        stored = self._stored.look(afresh)
        for problem in problems_of_single_names(stored, self._dropped, self._acknowledged):
            raise Broken(problem)
        self._tally.pages["files compared"] += len(stored)
