from __future__ import annotations

import json
import os
import random
import subprocess
import tempfile
import unittest
from pathlib import Path

from torture.cuts import Cuts, with_boot_id
from torture.plan import Push
from torture.program import Broken
from torture.promises import Promises
from torture.sources import Sources
from torture.work import Work


class CutsTests(unittest.TestCase):
    def test_a_seed_decides(self) -> None:
        kinds = ["ext4", "xfs"]
        self.assertEqual(Cuts.make(3, random.Random("1"), kinds), Cuts.make(3, random.Random("1"), kinds))

    def test_everything_comes(self) -> None:
        plans = [Cuts.make(number, random.Random(number), ["ext4", "xfs"]) for number in range(200)]
        self.assertEqual({plan.kind for plan in plans}, {"ext4", "xfs"})
        for choice in ("huge", "follows", "scrubs_first", "boots"):
            self.assertEqual({getattr(plan, choice) for plan in plans}, {True, False}, choice)
        moments = [moment for plan in plans for moment in plan.moments]
        self.assertEqual({moment.counts_lines for moment in moments}, {True, False})
        self.assertEqual({moment.commits for moment in moments}, {True, False})
        self.assertEqual({moment is None for plan in plans for moment in plan.again}, {True, False})
        for plan in plans:
            self.assertEqual(len(plan.again), len(plan.moments) + 1)
            self.assertEqual(list(plan.moments), sorted(plan.moments, key=lambda moment: moment.share))

    @unittest.skipUnless(os.geteuid() == 0, "not root")
    def test_a_run_of_the_kernel_has_another_id(self) -> None:
        with tempfile.NamedTemporaryFile("w") as file:
            file.write("another\n")
            file.flush()
            path = "/proc/sys/kernel/random/boot_id"
            command = [*with_boot_id(Path(file.name), Path("/disk")), "cat", path]
            run = subprocess.run(command, capture_output=True, text=True, check=False)
            if run.returncode != 0:
                self.skipTest(run.stderr)
            self.assertEqual(run.stdout, "another\n")
            self.assertNotEqual(Path(path).read_text(), "another\n")


class PromisesTests(unittest.TestCase):
    def setUp(self) -> None:
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.sources = Sources(Path(directory.name) / "set", random.Random(1), huge=False)
        self.work = Work.of(Push("to", "directory", (), ()), self.sources)
        self.name = next(iter(self.work.wanted))
        self.promises = Promises()
        self.work.announce(self.promises.ledger)

    def line(self, path: str, source: str | None = None) -> bytes:
        words = {"source": source or self.name, "result": "committed", "storedPath": path}
        return json.dumps(words).encode() + b"\n"

    def receipt(self, number: int, path: str = "a", server: str = "s") -> bytes:
        return json.dumps({"receipt": {"number": number, "path": path, "server": server}}).encode() + b"\n"

    def test_what_is_said_counts(self) -> None:
        path = f"to/{self.name}"
        self.assertEqual(self.promises.hear(self.work, self.line(path) + self.line(path)[:9]), 1)
        self.assertEqual(self.promises.ledger.acknowledged, {path: self.work.wanted[self.name][1]})

    def test_a_copy_hears_alone(self) -> None:
        self.promises.copy().hear(self.work, self.line(f"to/{self.name}"))
        self.assertEqual(self.promises.ledger.acknowledged, {})
        self.assertEqual(self.promises.paths, {})

    def test_another_path_is_found(self) -> None:
        path = f"to/{self.name}"
        stem, dot, extension = path.rpartition(".")
        other = f"{stem}-1{dot}{extension}" if dot and stem.rpartition("/")[2] else f"{path}-1"
        self.promises.hear(self.work, self.line(path))
        self.promises.hear(self.work, self.line(path))
        with self.assertRaisesRegex(Broken, "later the same as"):
            self.promises.hear(self.work, self.line(other))
        self.promises.forget_paths()
        self.promises.hear(self.work, self.line(other))

    def test_what_was_not_pushed_is_found(self) -> None:
        with self.assertRaisesRegex(Broken, "not pushed"):
            self.promises.hear(self.work, self.line("to/a", source="strange"))
        with self.assertRaisesRegex(Broken, "was acknowledged as"):
            self.promises.hear(self.work, self.line("to/strange"))

    def test_all_has_to_be_acknowledged(self) -> None:
        with self.assertRaisesRegex(Broken, "no acknowledgement"):
            self.work.require_all([])

    def test_receipts_that_agree(self) -> None:
        self.promises.keep(self.receipt(1) + self.receipt(2) + self.receipt(3)[:9])
        self.promises.keep(self.receipt(1) + self.receipt(3))
        self.assertEqual(self.promises.receipts, b"".join(self.receipt(number) for number in (1, 2, 1, 3)))

    def test_a_number_that_comes_twice_is_found(self) -> None:
        self.promises.keep(self.receipt(1))
        with self.assertRaisesRegex(Broken, "have the number 1"):
            self.promises.keep(self.receipt(1, path="b"))

    def test_another_key_is_found(self) -> None:
        self.promises.keep(self.receipt(1))
        with self.assertRaisesRegex(Broken, "another key"):
            self.promises.keep(self.receipt(2, server="t"))


if __name__ == "__main__":
    unittest.main()
