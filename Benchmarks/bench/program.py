"""The project's program, and the features of this build."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path


class Program:
    """A built `transfer`."""

    def __init__(self, path: Path) -> None:
        if not path.exists():
            raise SystemExit(f"bench: {path} is not there; run 'make build' first")
        self.path = str(path)
        self.version = self._output("--version")
        self._help = {command: self._output("help", command) for command in ("push", "serve")}

    def has_flag(self, command: str, flag: str) -> bool:
        return re.search(rf"--{flag}\b", self._help[command]) is not None

    def choices(self, command: str, flag: str) -> list[str]:
        """The values that a flag takes, in the order of the help."""
        return choices_in(self._help[command], flag)

    @property
    def has_tls(self) -> bool:
        """Whether the program can encrypt."""
        return self.has_flag("push", "trust-new")

    @property
    def serve_tls(self) -> list[str]:
        """The flags of a server that encrypts and admits every client."""
        return ["--open"] if self.has_flag("serve", "open") else []

    def _output(self, *arguments: str) -> str:
        done = subprocess.run([self.path, *arguments], capture_output=True, text=True, check=False)
        return done.stdout.strip()


def choices_in(help_text: str, flag: str) -> list[str]:
    """The values after `One of:` in the paragraph of a flag."""
    for paragraph in re.split(r"\n\s*\n", help_text):
        if re.match(rf"\s*(-\w, )?--{flag}\b", paragraph):
            found = re.search(r"One of: ([^.]*)\.", " ".join(paragraph.split()))
            return found.group(1).split(", ") if found else []
    return []
