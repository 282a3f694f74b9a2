from __future__ import annotations

import tempfile
import unittest
from pathlib import Path

from bench import workspace

_MOUNTS = """/dev/vda / ext4 rw,relatime 0 0
tmpfs /dev/shm tmpfs rw 0 0
/dev/vdb /mnt/with\\040space xfs rw 0 0
tmpfs /dev/shm/below ramfs rw 0 0
"""


class FilesystemTests(unittest.TestCase):
    def test_the_deepest_mount_counts(self) -> None:
        for path, kind in {
            "/home/somebody": "ext4",
            "/dev/shm/work": "tmpfs",
            "/dev/shm/below/work": "ramfs",
            "/dev/shmless": "ext4",
            "/mnt/with space/work": "xfs",
        }.items():
            with self.subTest(path):
                self.assertEqual(workspace.filesystem_in(_MOUNTS, Path(path)), kind)


class DirectoryTests(unittest.TestCase):
    def test_emptying_keeps_the_directory_and_what_links_lead_to(self) -> None:
        with tempfile.TemporaryDirectory() as parent:
            outside = Path(parent, "outside")
            outside.mkdir()
            (outside / "kept").touch()
            made = workspace.make_directory(Path(parent, "new", "parent"))
            (made / "directory").mkdir()
            (made / "directory" / "file").touch()
            (made / "file").touch()
            (made / "link").symlink_to(outside)
            workspace.empty(made)
            self.assertEqual(list(made.iterdir()), [])
            self.assertTrue((outside / "kept").exists())
