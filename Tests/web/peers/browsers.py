"""Browsers without a window, each with a profile in a directory of its own."""

from __future__ import annotations

import http.client
import json
import os
import socket
import subprocess
from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any, Callable

from web.peers.proxy import free_port
from web.wire import PATIENCE

# The name of a reference to an element (WebDriver, section 12.2).
_ELEMENT = "element-6066-11e4-a52e-4f735466cecf"


class Browser(ABC):
    """Takes the commands of WebDriver (W3C)."""

    @abstractmethod
    def close(self) -> None: ...

    @abstractmethod
    def open(self, url: str) -> None: ...

    def visit(self, url: str) -> None:
        """Opens what a browser may keep in place of showing it."""
        self.open(url)

    @abstractmethod
    def run(self, script: str, *arguments: object) -> Any:
        """Runs a function in the page, which may be asynchronous."""

    @abstractmethod
    def find(self, selector: str) -> str:
        """The first element. Raises AssertionError when there is none."""

    @abstractmethod
    def type(self, element: str, text: str) -> None:
        """Into a field for files: the paths of files, one a line."""

    @abstractmethod
    def click(self, element: str) -> None:
        """Waits for the page that it leads to."""

    @abstractmethod
    def complaints(self) -> list[str]:
        """Errors that the console has told of since it was asked last."""


def trust(authority: Path, database: Path) -> None:
    """Has a browser with this database of certificates take those of an authority."""
    database.mkdir(parents=True)
    for arguments in (["-N", "--empty-password"], ["-A", "-n", "authority", "-t", "C,,", "-i", str(authority)]):
        subprocess.run(["certutil", "-d", f"sql:{database}", *arguments], check=True, stdout=subprocess.DEVNULL)


def _until(answers: Callable[[], bool], process: subprocess.Popen[bytes], name: str) -> None:
    """Waits until a program answers, or has ended."""
    for _ in range(int(PATIENCE * 10)):
        if answers():
            return
        try:
            process.wait(0.1)
            break
        except subprocess.TimeoutExpired:
            continue
    raise AssertionError(f"{name} does not answer")


class Chromium(Browser):
    """By its driver, over HTTP."""

    needs = ("chromium", "chromedriver")

    def __init__(self, directory: Path, environment: dict[str, str], authority: Path | None = None) -> None:
        """With an authority, no other certificate is accepted."""
        directory.mkdir()
        environment = environment | {"HOME": str(directory)}
        if authority:
            trust(authority, directory / ".pki" / "nssdb")
        self._port = free_port()
        with (directory / "said").open("wb") as said:
            self._driver = subprocess.Popen(
                ["chromedriver", f"--port={self._port}"], env=environment, cwd=directory, stdout=said, stderr=said
            )
        self._session = ""
        _until(self._answers, self._driver, "chromedriver")
        arguments = ["--headless=new", f"--user-data-dir={directory / 'profile'}", "--lang=en", "--disable-gpu"]
        # Root has no sandbox there.
        arguments += ["--no-sandbox"] if os.geteuid() == 0 else []
        chosen: dict[str, Any] = {
            "acceptInsecureCerts": authority is None,
            "goog:loggingPrefs": {"browser": "ALL"},
            "goog:chromeOptions": {"args": arguments, "prefs": {"intl.accept_languages": "en"}},
        }
        made = self._ask("POST", "/session", {"capabilities": {"alwaysMatch": chosen}})
        self._session = f"/session/{made['sessionId']}"

    def close(self) -> None:
        if self._session:
            self._ask("DELETE", self._session)
        self._driver.terminate()
        self._driver.wait(PATIENCE)

    def open(self, url: str) -> None:
        self._ask("POST", f"{self._session}/url", {"url": url})

    def run(self, script: str, *arguments: object) -> Any:
        return self._ask("POST", f"{self._session}/execute/sync", {"script": script, "args": list(arguments)})

    def find(self, selector: str) -> str:
        found = self._ask("POST", f"{self._session}/element", {"using": "css selector", "value": selector})
        return str(found[_ELEMENT])

    def type(self, element: str, text: str) -> None:
        self._ask("POST", f"{self._session}/element/{element}/value", {"text": text})

    def click(self, element: str) -> None:
        self._ask("POST", f"{self._session}/element/{element}/click", {})

    def complaints(self) -> list[str]:
        return [entry["message"] for entry in self._ask("POST", f"{self._session}/se/log", {"type": "browser"})]

    def _answers(self) -> bool:
        try:
            return bool(self._ask("GET", "/status")["ready"])
        except OSError:
            return False

    def _ask(self, method: str, path: str, content: object = None) -> Any:
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=PATIENCE)
        try:
            connection.request(method, path, None if content is None else json.dumps(content))
            found = json.loads(connection.getresponse().read())["value"]
        finally:
            connection.close()
        if isinstance(found, dict) and "error" in found:
            raise AssertionError(f"{path}: {found['error']}: {found['message'][:500]}")
        return found


class Firefox(Browser):
    """By Marionette, which it speaks itself: lengths and JSON over TCP."""

    needs = ("firefox-esr",)

    # What is in the way of a page that is opened by a program.
    _PREFERENCES = (
        ("marionette.port", 0),
        ("intl.accept_languages", "en"),
        ("browser.shell.checkDefaultBrowser", False),
        ("datareporting.policy.dataSubmissionEnabled", False),
        ("app.update.auto", False),
    )

    def __init__(self, directory: Path, environment: dict[str, str], authority: Path | None = None) -> None:
        """With an authority, no other certificate is accepted."""
        self._profile = directory / "profile"
        if authority:
            trust(authority, self._profile)
        self._profile.mkdir(parents=True, exist_ok=True)
        (self._profile / "user.js").write_text(
            "".join(f"user_pref({json.dumps(name)}, {json.dumps(value)});\n" for name, value in self._PREFERENCES)
        )
        command = ["firefox-esr", "--headless", "--no-remote", "--profile", str(self._profile), "--marionette"]
        with (directory / "said").open("wb") as said:
            self._process = subprocess.Popen(
                [*command, "--remote-allow-system-access"],
                env=environment | {"HOME": str(directory)},
                cwd=directory,
                stdout=said,
                stderr=said,
            )
        self._said = 0
        self._number = 0
        port = self._profile / "MarionetteActivePort"
        _until(lambda: port.exists() and port.read_text().strip() != "", self._process, "Firefox")
        self._socket = socket.create_connection(("127.0.0.1", int(port.read_text())), PATIENCE)
        self._heard = self._socket.makefile("rb")
        self._hear()
        self._ask("WebDriver:NewSession", acceptInsecureCerts=authority is None)

    def close(self) -> None:
        self._ask("Marionette:Quit", flags=["eForceQuit"])
        self._heard.close()
        self._socket.close()
        self._process.wait(PATIENCE)

    def open(self, url: str) -> None:
        self._ask("WebDriver:Navigate", url=url)

    def visit(self, url: str) -> None:
        # What is kept never ends loading as a page.
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
