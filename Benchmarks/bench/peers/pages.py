"""Servers whose own page sends the files, in Chromium."""

from __future__ import annotations

import re
import shutil
import subprocess
import venv
from pathlib import Path

from .. import names
from ..browser import Window
from ..options import PROJECT
from ..processes import CommandFailed, Process
from ..program import Program
from .base import Peer, Place

_LISTENING = re.compile(r"listening on \S+:(\d+)")

# Seconds that an upload may take.
_LIMIT = 1800.0


class PagePeer(Peer):
    """A page that is open, and files that are dropped on it."""

    # What shows a row of a list, and where files are dropped.
    row: str
    zone = "body"

    def __init__(self, place: Place, window: Window) -> None:
        super().__init__(place)
        self.window = window
        self.server: Process | None = None
        self.url = ""

    def push(self) -> None:
        self.begin()
        self.window.wait(self.finished, self.place.limit or _LIMIT)

    def begin(self) -> None:
        """Drops everything at once."""
        self.window.drop(self.place.corpus.entries, self.zone)

    @property
    def finished(self) -> str:
        """An expression of JavaScript that is true once the page says that everything is stored."""
        raise NotImplementedError

    def disarm(self) -> None:
        # A page that is left closes its connections.
        self.window.open("about:blank")
        if self.server:
            self.place.processes.stop(self.server)

    def store(self, name: str) -> Path:
        """A folder for files that the server lists."""
        folder = self.place.target / name
        folder.mkdir()
        return folder


class TransferPage(PagePeer):
    """The page of this project, in a browser that was signed in by a link."""

    name = names.TRANSFER_PAGE
    promise = "encrypted, verified, synced"
    row = ".entries .entry bdi:not(:empty)"

    def __init__(self, place: Place, window: Window, program: Program) -> None:
        super().__init__(place, window)
        self._program = program
        home = str(place.directory("home"))
        self._environment = {"HOME": home, "XDG_CONFIG_HOME": home, "XDG_STATE_HOME": home, "XDG_DATA_HOME": home}

    def arm(self) -> None:
        directory = ["--dir", str(self.place.target)]
        serve = [self._program.path, "serve", *directory, "--listen", f"{self.place.route.host}:0"]
        self.server = server = self.serve(serve, self._environment)
        server.wait_until(lambda: _LISTENING.search(server.log) is not None, "did not say where it listens")
        found = _LISTENING.search(server.log)
        assert found
        self.url = f"https://localhost:{found[1]}"
        pair = [self._program.path, "access", "pair", *directory, "--web", "--name", "bench", "--url", self.url]
        with (self.place.scratch / "link").open("w+b") as said:
            self.place.processes.start(pair, stdout=said, environment=self._environment).finish()
            said.seek(0)
            words = said.read().decode().split()
        self.window.open(next(word for word in words if word.startswith(self.url)))
        self.window.press("button")
        self.window.wait("document.querySelector('.make button + button')", 60)

    @property
    def finished(self) -> str:
        count = f"{self.place.corpus.count:,}"
        return f"document.querySelector('.fold')?.textContent.startsWith('{count} of {count} stored')"


class Copyparty(PagePeer):
    """copyparty and its page, with its own certificate."""

    name = names.COPYPARTY
    promise = "encrypted, verified"
    row = "#files tbody td a"
    zone = "#up_dz"
    finished = "up2k.st.bytes.total && !up2k.st.is_busy && up2k.st.bytes.finished === up2k.st.bytes.total"

    _PACKAGE = "copyparty==1.20.*"

    @classmethod
    def program(cls) -> str:
        """The program, which is installed from PyPI into the build directory. Raises CommandFailed if it cannot be."""
        folder = PROJECT / ".build/bench-venv"
        program = folder / "bin/copyparty"
        if not program.exists():
            venv.create(folder, with_pip=True)
            install = [str(folder / "bin/pip"), "install", "--quiet", "--disable-pip-version-check", cls._PACKAGE]
            if subprocess.run(install, check=False).returncode != 0:
                shutil.rmtree(folder)
                raise CommandFailed(f"{cls._PACKAGE} cannot be installed")
        return str(program)

    def arm(self) -> None:
        home = self.place.directory("copyparty")
        port = self.place.route.free_port()
        # All clients may do everything, also in memory. What it remembers is beside the files, not in them.
        command = [self.program(), "-i", self.place.route.host, "-p", str(port), "-v", f"{self.place.target}::A", "--wram"]
        self.server = self.serve([*command, "--hist", str(home / "hist")], {"HOME": str(home), "XDG_CONFIG_HOME": str(home)})
        self.server.wait_until_listening(port)
        self.url = f"https://localhost:{port}"
        self.window.open(self.url)
        self.window.wait("globalThis.up2k?.st", 60)
        # It would ask before it begins.
        self.window.run("localStorage.setItem('ask_up', '0')")
        self.window.open(f"{self.url}/?up")
        # It takes files once it knows that it may write.
        self.window.wait("globalThis.up2k?.st && document.querySelector('#up_dz') && perms.includes('write')", 60)
