from __future__ import annotations

import tempfile
import unittest
from pathlib import Path

from mutants import copy
from mutants.mutant import Kind, Mutant
from mutants.placing import SWITCH_FILE

_MUTANT = Mutant(3, "Sources/TransferStore/A.swift", Kind.EXPRESSION, "a == b", "true", "", "", "")


class CopyTests(unittest.TestCase):
    def setUp(self) -> None:
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.project, self.copy = Path(directory.name) / "project", Path(directory.name) / "copy"
        self._write("Sources/TransferStore/A.swift", "a == b\n")
        self._write("Sources/TransferSystem/B.swift", "b\n")
        self._write("Package.swift", "[\n    .treatAllWarnings(as: .error),\n]\n")
        self._write(".build/debug/a", "")

    def _write(self, path: str, text: str) -> None:
        (self.project / path).parent.mkdir(parents=True, exist_ok=True)
        (self.project / path).write_text(text)

    def test_mutants_and_the_switch_are_in_it(self) -> None:
        copy.update(self.project, self.copy, [_MUTANT])
        self.assertIn("mutantIsOn(3)", (self.copy / _MUTANT.file).read_text())
        self.assertIn("func mutantIsOn", (self.copy / SWITCH_FILE).read_text())
        self.assertNotIn("treatAllWarnings", (self.copy / "Package.swift").read_text())
        self.assertFalse((self.copy / ".build").exists())
        self.assertEqual((self.project / _MUTANT.file).read_text(), "a == b\n")

    def test_what_is_the_same_stays_untouched(self) -> None:
        copy.update(self.project, self.copy, [_MUTANT])
        paths = [path for path in self.copy.rglob("*") if path.is_file()]
        before = {path: path.stat().st_mtime_ns for path in paths}
        copy.update(self.project, self.copy, [_MUTANT])
        self.assertEqual({path: path.stat().st_mtime_ns for path in paths}, before)

    def test_what_is_gone_goes(self) -> None:
        copy.update(self.project, self.copy, [_MUTANT])
        (self.project / "Sources/TransferSystem/B.swift").unlink()
        copy.update(self.project, self.copy, [])
        self.assertFalse((self.copy / "Sources/TransferSystem/B.swift").exists())
        self.assertEqual((self.copy / _MUTANT.file).read_text(), "a == b\n")

    def test_a_file_that_is_not_there(self) -> None:
        (self.project / _MUTANT.file).unlink()
        with self.assertRaisesRegex(FileNotFoundError, "mutant 3"):
            copy.update(self.project, self.copy, [_MUTANT])
