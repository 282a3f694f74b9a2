from __future__ import annotations

import tempfile
import unittest
from pathlib import Path

from torture.power import PowerDisk
from torture.program import Broken


class PowerDiskTests(unittest.TestCase):
    def setUp(self) -> None:
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.path = Path(directory.name)

    def disk(self, kind: str, options: str = "") -> PowerDisk:
        disk = PowerDisk(self.path / kind, kind, options)
        self.addCleanup(disk.abandon)
        try:
            disk.make()
        except OSError as error:
            self.skipTest(str(error))
        return disk

    def test_a_cut_takes_what_was_not_synced(self) -> None:
        for kind in PowerDisk.kinds():
            self.disk(kind).prove()

    def test_a_disk_that_loses_nothing_is_found_out(self) -> None:
        for kind in PowerDisk.kinds():
            disk = self.disk(kind, "sync")
            with self.assertRaisesRegex(Broken, "proves nothing"):
                disk.prove()

    def test_the_disk_goes_on_after_a_cut(self) -> None:
        for kind in PowerDisk.kinds():
            disk = self.disk(kind)
            (disk.directory / "before").touch()
            disk.commit()
            image = disk.cut()
            (disk.directory / "behind").touch()
            disk.commit()
            for _ in range(2):
                # The image is unchanged.
                disk.boot(image)
                self.assertTrue((disk.directory / "before").exists())
                self.assertFalse((disk.directory / "behind").exists())
                (disk.directory / "behind").touch()
                disk.commit()
            disk.halt()
            self.assertEqual(list(disk.directory.iterdir()), [])


if __name__ == "__main__":
    unittest.main()
