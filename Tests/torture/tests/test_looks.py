from __future__ import annotations

import os
import random
import shutil
import tempfile
import unittest
from dataclasses import replace
from pathlib import Path

from torture.looks import FILE, FOLDER, LINK, Entry, Look, Trash, Tree, differences, removed, torn
from torture.trees import Grove


def entry(kind: str, held: str = "", size: int = 1) -> Entry:
    return Entry(kind, 0o644, (0, 0), 1, held, size if kind == FILE else 0, (), "")


def tree(**entries: Entry) -> Look:
    return {"": entry(FOLDER), **entries}


class TreeTests(unittest.TestCase):
    def setUp(self) -> None:
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.path = Path(directory.name)

    def test_a_copy_is_the_same_and_every_change_is_seen(self) -> None:
        Grove(self.path / "a", random.Random(3))
        (self.path / "a" / "plain").write_bytes(b"x")
        os.link(self.path / "a" / "plain", self.path / "a" / "zz other name")
        os.symlink("nowhere", self.path / "a" / "loop")
        shutil.copytree(self.path / "a", self.path / "b", symlinks=True)
        os.unlink(self.path / "b" / "zz other name")
        os.link(self.path / "b" / "plain", self.path / "b" / "zz other name")
        shutil.copystat(self.path / "a", self.path / "b")
        one, other = Tree(self.path / "a"), Tree(self.path / "b")
        for path in one.look():
            # copytree copies a hard link as a separate file.
            if one.look()[path].first not in ("", path) and path != "zz other name":
                place = self.path / "b" / path
                place.unlink()
                os.link(self.path / "b" / one.look()[path].first, place)
        for path, found in one.look().items():
            if found.kind == FOLDER:
                shutil.copystat(self.path / "a" / path, self.path / "b" / path)
        self.assertEqual(differences(one.look(), other.look()), [])

        def changed(change: str) -> None:
            self.assertTrue(differences(one.look(), other.look()), change)

        plain = self.path / "b" / "plain"
        time = plain.stat().st_mtime_ns
        os.utime(plain, ns=(time, time + 1))
        changed("time")
        os.utime(plain, ns=(time, time))
        self.assertEqual(differences(one.look(), other.look()), [])
        plain.write_bytes(b"y")
        os.utime(plain, ns=(time, time))
        changed("content")
        plain.write_bytes(b"x")
        os.utime(plain, ns=(time, time))
        mode = plain.stat().st_mode
        os.chmod(plain, 0o601)
        changed("mode")
        os.chmod(plain, mode)
        shutil.copy2(plain, aside := self.path / "aside")
        os.rename(aside, self.path / "b" / "zz other name")
        top = (self.path / "a").stat().st_mtime_ns
        os.utime(self.path / "b", ns=(top, top))
        changed("inodes")

    def test_its_own_folders_are_left_out(self) -> None:
        (self.path / ".transfer" / "trash").mkdir(parents=True)
        (self.path / "d" / ".transfer").mkdir(parents=True)
        self.assertEqual(set(Tree(self.path, (".transfer",)).look()), {"", "d", "d/.transfer"})

    def test_nothing_is_there(self) -> None:
        self.assertEqual(Tree(self.path / "nothing").look(), {})

    def test_the_trash_is_counted(self) -> None:
        for part in ("1", "2"):
            (self.path / part / "r1" / "d").mkdir(parents=True)
            (self.path / part / "r1" / "d" / "f").write_bytes(b"x")
        (self.path / "2" / "r2").mkdir()
        trash = Trash(self.path, "r1")
        self.assertEqual(list(trash.look().values()), [2])
        self.assertEqual(trash.folders, {"", "d"})
        self.assertEqual(list(Trash(self.path / "nothing").look()), [])


class LookTests(unittest.TestCase):
    def test_old_and_new_are_whole(self) -> None:
        old, new = entry(FILE, "old"), entry(FILE, "new")
        for now in (old, new):
            self.assertEqual(torn(tree(f=old), tree(f=now), tree(f=new)), [])

    def test_anything_else_is_torn(self) -> None:
        old, new = entry(FILE, "old"), entry(FILE, "new")
        self.assertTrue(torn(tree(f=old), tree(f=entry(FILE, "half")), tree(f=new)))
        self.assertTrue(torn(tree(f=old), tree(f=entry(LINK, "old")), tree(f=new)))
        self.assertTrue(torn(tree(f=old), tree(f=old, **{"f-1": new}), tree(f=new)))

    def test_what_stays_is_never_gone(self) -> None:
        old, new = entry(FILE, "old"), entry(FILE, "new")
        self.assertTrue(torn(tree(f=old), tree(), tree(f=new)))
        self.assertEqual(torn(tree(f=old), tree(), tree(f=entry(FOLDER))), [])

    def test_a_name_that_becomes_a_file_of_its_own_may_be_gone(self) -> None:
        one = replace(entry(FILE, "x"), first="f")
        before, other = tree(f=one, g=one), replace(one, first="g")
        self.assertEqual(torn(before, tree(f=one), tree(f=one, g=other)), [])
        self.assertTrue(torn(before, tree(f=one), tree(f=one, g=one)))

    def test_what_goes_has_to_be_in_the_trash(self) -> None:
        old = entry(FILE, "old")
        owed = [("f", (FILE, "old"))]
        self.assertEqual(removed(tree(f=old), tree(), tree()), owed)
        self.assertEqual(removed(tree(f=old), tree(f=entry(FOLDER)), tree(f=entry(FOLDER))), owed)
        self.assertEqual(removed(tree(f=old), tree(f=entry(FILE, "new")), tree(f=entry(FILE, "new"))), [])
        self.assertEqual(removed(tree(l=entry(LINK, "x")), tree(), tree()), [("l", (LINK, "x"))])
        self.assertEqual(removed(tree(l=entry(LINK, "x")), tree(l=old), tree(l=old)), [])

    def test_what_was_moved_need_not(self) -> None:
        old = entry(FILE, "old")
        self.assertEqual(removed(tree(f=old), tree(g=old), tree(g=old)), [])
        empty = replace(old, size=0)
        self.assertEqual(removed(tree(f=empty), tree(g=empty), tree(g=empty)), [("f", empty.key)])


if __name__ == "__main__":
    unittest.main()
