"""Browsers without a window, each with a profile in its own directory."""

from __future__ import annotations

import base64
import http.client
import json
import os
import re
import select
import signal
import socket
import subprocess
import threading
import unittest
from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any

import children
from web.wire import PATIENCE

# The name of a reference to an element (WebDriver, section 12.2).
_ELEMENT = "element-6066-11e4-a52e-4f735466cecf"

# Seconds after which to look again whether a program listens that does not say so.
_LOOKING = 0.05


class Browser(ABC):
    """A browser that takes the commands of WebDriver (W3C)."""

    @abstractmethod
    def close(self) -> None: ...

    @abstractmethod
    def open(self, url: str) -> None: ...

    def visit(self, url: str) -> None:
        """Opens a URL that a browser may download instead of showing."""
        self.open(url)

    @abstractmethod
    def run(self, script: str, *arguments: object) -> Any:
        """Runs a function in the page. The function may be asynchronous."""

    @abstractmethod
    def find(self, selector: str) -> str:
        """The first matching element. Raises AssertionError if no element matches."""

    @abstractmethod
    def type(self, element: str, text: str) -> None:
        """Types into an element. A field for files takes the paths of files, one per line."""

    @abstractmethod
    def click(self, element: str) -> None:
        """Clicks an element, and waits for the page that it leads to."""

    @abstractmethod
    def complaints(self) -> list[str]:
        """Errors that the console has shown since the last call."""


def trust(authority: Path, database: Path) -> None:
    """Makes a browser with this certificate database accept the certificates of an authority."""
    database.mkdir(parents=True)
    for arguments in (["-N", "--empty-password"], ["-A", "-n", "authority", "-t", "C,,", "-i", str(authority)]):
        subprocess.run(["certutil", "-d", f"sql:{database}", *arguments], check=True, stdout=subprocess.DEVNULL)


class _Program:
    """A program that chooses the number of a port or display."""

    def __init__(self, command: list[str], sentence: bytes, directory: Path, environment: dict[str, str]) -> None:
        """`sentence` matches what the program prints when it listens, with the number; it is empty if it prints nothing."""
        self._process = subprocess.Popen(
            command,
            # A killed browser leaves its files there.
            env=environment | {"HOME": str(directory), "TMPDIR": str(directory)},
            cwd=directory,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        assert self._process.stdout is not None
        self._pipe = self._process.stdout
        self.number = self._told(sentence) if sentence else self._seen()
        # Later output is ignored, but must not fill the pipe.
        self._reader = threading.Thread(target=self._pipe.read)
        self._reader.start()

    def _told(self, sentence: bytes) -> int:
        """The number that the program prints."""
        said = b""
        while select.select([self._pipe], [], [], PATIENCE)[0] and (more := os.read(self._pipe.fileno(), 1 << 12)):
            said += more
            if found := re.search(sentence, said):
                return int(found[1])
        raise self._silent(said)

    def _seen(self) -> int:
        """The port on which the program listens without printing it."""
        for _ in range(int(PATIENCE / _LOOKING)):
            if port := _listening(self._process.pid):
                return port
            # The pipe becomes readable when the program ends.
            if select.select([self._pipe], [], [], _LOOKING)[0] and not os.read(self._pipe.fileno(), 1 << 12):
                break
        raise self._silent(b"")

    def kill_descendants(self) -> None:
        """Kills all processes that the program has started, and waits for their ends."""
        ends = []
        for process in children.descendants(self._process.pid):
            try:
                ends.append(os.pidfd_open(process))
                signal.pidfd_send_signal(ends[-1], signal.SIGKILL)
            except ProcessLookupError:
                continue
        for end in ends:
            select.select([end], [], [], PATIENCE)
            os.close(end)

    def _silent(self, said: bytes) -> AssertionError:
        self._process.kill()
        self._process.communicate()
        return AssertionError(f"{self._process.args!r} does not listen: {said.decode(errors='replace')}")

    def end(self, asks: bool = True) -> None:
        if asks:
            self._process.terminate()
        self._process.wait(PATIENCE)
        self._reader.join(PATIENCE)
        self._pipe.close()


def _listening(process: int) -> int:
    """The port on which a process listens on this machine, or 0."""
    opened = {os.readlink(path) for path in Path(f"/proc/{process}/fd").iterdir()}
    for line in Path(f"/proc/{process}/net/tcp").read_text().splitlines()[1:]:
        fields = line.split()
        if fields[3] == "0A" and f"socket:[{fields[9]}]" in opened:
            return int(fields[1].partition(":")[2], 16)
    return 0


class _Driven(Browser):
    """A browser that is controlled by its driver over HTTP."""

    _driver: _Program | None = None
    _session = ""

    def _begin(self, wanted: dict[str, Any]) -> None:
        made = self._ask("POST", "/session", {"capabilities": {"alwaysMatch": wanted}})
        self._session = f"/session/{made['sessionId']}"

    def close(self) -> None:
        if self._session:
            self._ask("DELETE", self._session)
        if self._driver:
            self._driver.end()
        self._driver, self._session = None, ""

    def open(self, url: str) -> None:
        self._ask("POST", f"{self._session}/url", {"url": url})

    def reload(self) -> None:
        """Loads the page again, also while it asks to stay."""
        self._ask("POST", f"{self._session}/refresh", {})

    def run(self, script: str, *arguments: object) -> Any:
        return self._ask("POST", f"{self._session}/execute/sync", {"script": script, "args": list(arguments)})

    def find(self, selector: str) -> str:
        found = self._ask("POST", f"{self._session}/element", {"using": "css selector", "value": selector})
        return str(found[_ELEMENT])

    def type(self, element: str, text: str) -> None:
        self._ask("POST", f"{self._session}/element/{element}/value", {"text": text})

    def click(self, element: str) -> None:
        self._ask("POST", f"{self._session}/element/{element}/click", {})

    def _ask(self, method: str, path: str, content: object = None) -> Any:
        assert self._driver is not None
        connection = http.client.HTTPConnection("127.0.0.1", self._driver.number, timeout=PATIENCE)
        try:
            connection.request(method, path, None if content is None else json.dumps(content))
            found = json.loads(connection.getresponse().read())["value"]
        finally:
            connection.close()
        if isinstance(found, dict) and "error" in found:
            raise AssertionError(f"{path}: {found['error']}: {found['message'][:500]}")
        return found


def _chromedriver(directory: Path, environment: dict[str, str]) -> _Program:
    """Starts the driver. It lets the kernel choose a port for IPv6, and ends if that is in use for IPv4."""
    for _ in range(20):
        try:
            return _Program(["chromedriver", "--port=0"], rb"successfully on port (\d+)", directory, environment)
        except AssertionError as error:
            if "Address already in use" not in str(error):
                raise
            refused = error
    raise refused


class Chromium(_Driven):
    """Chromium, which can also take the look of other devices."""

    needs = ("chromium", "chromedriver")

    def __init__(self, directory: Path, environment: dict[str, str], authority: Path | None = None) -> None:
        """Continues with the profile in the directory, if there is one. With an authority, the browser accepts no other
        certificates."""
        directory.mkdir(exist_ok=True)
        if authority:
            trust(authority, directory / ".pki" / "nssdb")
        self._driver = _chromedriver(directory, environment)
        arguments = ["--headless=new", f"--user-data-dir={directory / 'profile'}", "--lang=en", "--disable-gpu"]
        # The sandbox does not work for root.
        arguments += ["--no-sandbox"] if os.geteuid() == 0 else []
        chosen: dict[str, Any] = {
            "acceptInsecureCerts": authority is None,
            "goog:loggingPrefs": {"browser": "ALL"},
            "goog:chromeOptions": {"args": arguments, "prefs": {"intl.accept_languages": "en"}},
        }
        try:
            self._begin(chosen)
        except BaseException:
            self.close()
            raise

    def kill(self) -> None:
        """Kills the browser with all its processes, if it runs. Another one continues with its profile."""
        if self._driver is None:
            return
        self._driver.kill_descendants()
        self._driver.end()
        self._driver, self._session = None, ""

    def drop(self, *paths: Path) -> None:
        """Drops files and folders as from a file manager, so that the page gets handles of them."""
        data = {"items": [], "files": [str(path) for path in paths], "dragOperationsMask": 1}
        for step in ("dragEnter", "dragOver", "drop"):
            self.command("Input.dispatchDragEvent", type=step, x=10, y=10, data=data)

    def complaints(self) -> list[str]:
        return [entry["message"] for entry in self._ask("POST", f"{self._session}/se/log", {"type": "browser"})]

    def command(self, name: str, **parameters: object) -> Any:
        """Gives a command of the DevTools protocol."""
        return self._ask("POST", f"{self._session}/goog/cdp/execute", {"cmd": name, "params": parameters})

    def take_look(self, width: int, height: int, is_dark: bool, is_phone: bool = False) -> None:
        """Shows pages as on a screen of this size in CSS pixels, light or dark. A phone has two pixels for each, and
        fingers."""
        self.command(
            "Emulation.setDeviceMetricsOverride",
            width=width, height=height, deviceScaleFactor=2 if is_phone else 1, mobile=is_phone)
        self.command("Emulation.setTouchEmulationEnabled", enabled=is_phone)
        features = [{"name": "prefers-color-scheme", "value": "dark" if is_dark else "light"}]
        features.append({"name": "prefers-reduced-motion", "value": "reduce"})
        self.command("Emulation.setEmulatedMedia", features=features)

    def speak(self, language: str) -> None:
        """Requests pages in a language from now on."""
        agent = self.run("return navigator.userAgent")
        self.command("Emulation.setUserAgentOverride", userAgent=agent, acceptLanguage=language)

    def picture(self) -> bytes:
        """What the window shows, as PNG."""
        return base64.b64decode(self.command("Page.captureScreenshot", format="png")["data"])


class WebKit(_Driven):
    """WebKitGTK's MiniBrowser, the nearest to Safari that there is on Linux, on a display without a screen."""

    needs = ("WebKitWebDriver", "Xvfb", "nginx")

    def __init__(self, directory: Path, environment: dict[str, str]) -> None:
        directory.mkdir()
        # MiniBrowser is not on the path, but in the folder of the libraries.
        browsers = sorted(Path("/usr/lib").glob("*/webkit2gtk-4.*/MiniBrowser"))
        if not browsers:
            raise unittest.SkipTest("MiniBrowser is not there")
        screen = ["Xvfb", "-displayfd", "1", "-screen", "0", "1280x900x24", "-nolisten", "tcp"]
        self._display = _Program(screen, rb"(\d+)\n", directory, environment)
        try:
            shown = environment | {"DISPLAY": f":{self._display.number}", "LANGUAGE": "en", "LANG": "en_US.UTF-8"}
            self._driver = _Program(["WebKitWebDriver", "--port=0"], b"", directory, shown)
            options = {"binary": str(browsers[-1]), "args": ["--automation"]}
            self._begin({"acceptInsecureCerts": True, "webkitgtk:browserOptions": options})
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        try:
            super().close()
        finally:
            self._display.end()

    def complaints(self) -> list[str]:
        # The driver does not tell what the console shows.
        return []


class Firefox(Browser):
    """Firefox, controlled by its built-in Marionette protocol: lengths and JSON over TCP."""

    needs = ("firefox-esr",)

    # Settings that remove dialogs and pages which would disturb automated tests.
    _PREFERENCES = (
        ("marionette.port", 0),
        ("intl.accept_languages", "en"),
        ("browser.shell.checkDefaultBrowser", False),
        ("datareporting.policy.dataSubmissionEnabled", False),
        ("app.update.auto", False),
    )

    def __init__(self, directory: Path, environment: dict[str, str], authority: Path | None = None) -> None:
        """With an authority, the browser accepts no other certificates."""
        self._profile = directory / "profile"
        if authority:
            trust(authority, self._profile)
        self._profile.mkdir(parents=True, exist_ok=True)
        (self._profile / "user.js").write_text(
            "".join(f"user_pref({json.dumps(name)}, {json.dumps(value)});\n" for name, value in self._PREFERENCES)
        )
        command = ["firefox-esr", "--headless", "--no-remote", "--profile", str(self._profile), "--marionette"]
        command.append("--remote-allow-system-access")
        self._said = 0
        self._number = 0
        self._program = _Program(command, rb"Listening on port (\d+)", directory, environment)
        self._socket = socket.create_connection(("127.0.0.1", self._program.number), PATIENCE)
        self._heard = self._socket.makefile("rb")
        self._hear()
        self._ask("WebDriver:NewSession", acceptInsecureCerts=authority is None)

    def close(self) -> None:
        self._ask("Marionette:Quit", flags=["eForceQuit"])
        self._heard.close()
        self._socket.close()
        self._program.end(asks=False)

    def open(self, url: str) -> None:
        self._ask("WebDriver:Navigate", url=url)

    def visit(self, url: str) -> None:
        # A download never completes loading as a page.
        self._ask("WebDriver:SetTimeouts", pageLoad=2000)
        try:
            self.open(url)
        except AssertionError as error:
            if "WebDriver:Navigate: timeout" not in str(error):
                raise
        self._ask("WebDriver:SetTimeouts", pageLoad=int(PATIENCE * 1000))

    def run(self, script: str, *arguments: object) -> Any:
        return self._ask("WebDriver:ExecuteScript", script=script, args=list(arguments))["value"]

    def find(self, selector: str) -> str:
        found = self._ask("WebDriver:FindElement", using="css selector", value=selector)
        return str(found["value"][_ELEMENT])

    def type(self, element: str, text: str) -> None:
        self._ask("WebDriver:ElementSendKeys", id=element, text=text)

    def click(self, element: str) -> None:
        self._ask("WebDriver:ElementClick", id=element)

    def complaints(self) -> list[str]:
        self._ask("Marionette:SetContext", value="chrome")
        found: list[str] = self.run(
            """return Services.console.getMessageArray()
                .filter(message => message instanceof Ci.nsIScriptError && message.sourceName.startsWith("https:")
                    && !(message.flags & Ci.nsIScriptError.warningFlag))
                .map(message => `${message.sourceName}: ${message.errorMessage}`)"""
        )
        self._ask("Marionette:SetContext", value="content")
        new, self._said = found[self._said :], len(found)
        return new

    def _ask(self, command: str, **parameters: object) -> Any:
        self._number += 1
        said = json.dumps([0, self._number, command, parameters]).encode()
        self._socket.sendall(b"%d:%s" % (len(said), said))
        _, number, error, found = self._hear()
        assert number == self._number
        if error:
            raise AssertionError(f"{command}: {error['error']}: {error['message'][:500]}")
        return found

    def _hear(self) -> Any:
        length = b""
        while (byte := self._heard.read(1)) != b":":
            if not byte:
                raise AssertionError("Firefox has ended")
            length += byte
        return json.loads(self._heard.read(int(length)))
