"""A browser without a window, by the protocol of WebDriver (W3C)."""

from __future__ import annotations

import http.client
import json
import os
import subprocess
from pathlib import Path
from typing import Any

from web.peers.proxy import free_port
from web.wire import PATIENCE

# The name of a reference to an element (WebDriver, section 12.2).
_ELEMENT = "element-6066-11e4-a52e-4f735466cecf"


class Browser:
    """Chromium, with a profile in a directory of its own."""

    def __init__(self, directory: Path, environment: dict[str, str]) -> None:
        directory.mkdir()
        self.downloads = directory / "downloads"
        self._port = free_port()
        with (directory / "said").open("wb") as said:
            self._driver = subprocess.Popen(
                ["chromedriver", f"--port={self._port}"], env=environment, cwd=directory, stdout=said, stderr=said
            )
        self._session = ""
        self._await()
        arguments = ["--headless=new", f"--user-data-dir={directory / 'profile'}", "--lang=en", "--disable-gpu"]
        # Root has no sandbox there.
        arguments += ["--no-sandbox"] if os.geteuid() == 0 else []
        chosen: dict[str, Any] = {
            "acceptInsecureCerts": True,
            "goog:loggingPrefs": {"browser": "ALL"},
            "goog:chromeOptions": {
                "args": arguments,
                "prefs": {"download.default_directory": str(self.downloads), "intl.accept_languages": "en"},
            },
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
        """Runs a function in the page, which may be asynchronous."""
        return self._ask("POST", f"{self._session}/execute/sync", {"script": script, "args": list(arguments)})

    def find(self, selector: str) -> str:
        """The first element. Raises AssertionError when there is none."""
        found = self._ask("POST", f"{self._session}/element", {"using": "css selector", "value": selector})
        return str(found[_ELEMENT])

    def type(self, element: str, text: str) -> None:
        """Into a field for files: the paths of files, one a line."""
        self._ask("POST", f"{self._session}/element/{element}/value", {"text": text})

    def click(self, element: str) -> None:
        """Waits for the page that it leads to."""
        self._ask("POST", f"{self._session}/element/{element}/click", {})

    def complaints(self) -> list[str]:
        """What the console has said since it was asked last."""
        return [entry["message"] for entry in self._ask("POST", f"{self._session}/se/log", {"type": "browser"})]

    def _await(self) -> None:
        for _ in range(int(PATIENCE * 10)):
            try:
                if self._ask("GET", "/status")["ready"]:
                    return
            except OSError:
                try:
                    self._driver.wait(0.1)
                except subprocess.TimeoutExpired:
                    continue
                break
        raise AssertionError("chromedriver does not answer")

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
