"""Asks git about the commits of rows."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path


class History:
    """The history of the project. All methods also work without git, or with only a part of the history."""

    def __init__(self, project: Path) -> None:
        self._project = project

    def _git(self, *arguments: str) -> subprocess.CompletedProcess[str] | None:
        """Runs git. Returns None if git is not installed."""
        try:
            return subprocess.run(
                ["git", *arguments], cwd=self._project, capture_output=True, text=True, errors="replace", check=False
            )
        except FileNotFoundError:
            return None

    def head(self) -> str | None:
        """The commit of the sources; None without a repository."""
        found = self._git("rev-parse", "--short=10", "HEAD")
        return found.stdout.strip() if found and found.returncode == 0 else None

    def is_changed(self, paths: Sequence[str]) -> bool:
        """Whether files differ from the commit, or are in no commit."""
        found = self._git("status", "--porcelain", "--", *paths)
        return found is None or found.returncode != 0 or bool(found.stdout.strip())

    def is_same(self, commit: str, paths: Sequence[str]) -> bool:
        """Whether a commit has the same files as the present one."""
        found = self._git("diff", "--quiet", commit, "HEAD", "--", *paths)
        return found is not None and found.returncode == 0

    def age(self, commit: str, paths: Sequence[str]) -> int | None:
        """The number of later commits that touch the paths; None if the history does not contain the commit."""
        known = self._git("cat-file", "-e", f"{commit}^{{commit}}")
        if known is None or known.returncode != 0:
            return None
        found = self._git("rev-list", "--count", f"{commit}..HEAD", "--", *paths)
        if found is None or found.returncode != 0:
            return None
        return int(found.stdout)
