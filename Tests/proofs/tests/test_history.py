from __future__ import annotations

import os
import subprocess
import tempfile
import unittest
from pathlib import Path

from proofs.history import History


class HistoryTests(unittest.TestCase):
    """A history of three commits: the first makes a/one and b/one, the second changes a/one, the third b/one."""

    def setUp(self) -> None:
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.directory = Path(directory.name)
        self.project = self.directory / "project"
        self.project.mkdir()
        self._git("init", "--quiet")
        self.commits = [self._commit({"a": "1", "b": "1"}), self._commit({"a": "2"}), self._commit({"b": "2"})]
        self.history = History(self.project)

    def _git(self, *arguments: str) -> str:
        names = {f"GIT_{role}_{what}": "x@example.org" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
        environment = {**os.environ, **names, "GIT_CONFIG_GLOBAL": os.devnull}
        return subprocess.run(
            ["git", *arguments], cwd=self.project, env=environment, check=True, capture_output=True, text=True
        ).stdout.strip()

    def _write(self, folder: str, text: str) -> None:
        (self.project / folder).mkdir(exist_ok=True)
        (self.project / folder / "one").write_text(text, encoding="utf-8")

    def _commit(self, files: dict[str, str]) -> str:
        for folder, text in files.items():
            self._write(folder, text)
        self._git("add", ".")
        self._git("commit", "--quiet", "--message", "x")
        return self._git("rev-parse", "HEAD")

    def test_the_head(self) -> None:
        head = self.history.head()
        self.assertIsNotNone(head)
        self.assertTrue(self.commits[2].startswith(head or "none"))

    def test_the_age_counts_what_touches_the_paths(self) -> None:
        first = self.commits[0][:10]
        self.assertEqual([self.history.age(first, paths) for paths in (["a"], ["b"], ["a", "b"], ["c"])], [1, 1, 2, 0])
        self.assertEqual(self.history.age(self.commits[2], ["a", "b"]), 0)

    def test_an_unknown_commit_has_no_age(self) -> None:
        self.assertIsNone(self.history.age("0123456789", ["a"]))
        self.assertFalse(self.history.is_same("0123456789", ["a"]))

    def test_the_same_files(self) -> None:
        self.assertTrue(self.history.is_same(self.commits[1], ["a"]))
        self.assertFalse(self.history.is_same(self.commits[1], ["a", "b"]))

    def test_files_that_no_commit_has(self) -> None:
        self.assertFalse(self.history.is_changed(["a", "b"]))
        self._write("a", "3")
        self.assertTrue(self.history.is_changed(["a"]))
        self.assertFalse(self.history.is_changed(["b"]))
        (self.project / "b" / "two").write_text("", encoding="utf-8")
        self.assertTrue(self.history.is_changed(["b"]))

    def test_a_part_of_the_history(self) -> None:
        self._git("clone", "--quiet", "--depth", "2", self.project.as_uri(), str(self.directory / "shallow"))
        shallow = History(self.directory / "shallow")
        self.assertIsNone(shallow.age(self.commits[0], ["a"]))
        self.assertEqual(shallow.age(self.commits[1], ["a", "b"]), 1)

    def test_no_repository(self) -> None:
        nowhere = History(self.directory)
        self.assertIsNone(nowhere.head())
        self.assertIsNone(nowhere.age(self.commits[0], ["a"]))
        self.assertTrue(nowhere.is_changed(["a"]))
