from __future__ import annotations

import random
import unittest

from torture import names


class NamesTests(unittest.TestCase):
    def test_all_are_legal_and_different(self) -> None:
        source = random.Random(1)
        made = [names.name(number, source) for number in range(2000)]
        self.assertEqual(len(set(made)), len(made))
        for name in made:
            self.assertEqual(names.bases(name, made), [], name)
            self.assertLessEqual(len(name.encode()), 255)
            self.assertNotIn("/", name)
            self.assertNotIn("\0", name)

    def test_directories_are_legal(self) -> None:
        source = random.Random(2)
        made = {names.directory(source) for _ in range(500)}
        self.assertIn("", made)
        for path in made - {""}:
            self.assertTrue(path.endswith("/"))
            for part in path[:-1].split("/"):
                self.assertNotIn(part, ("", ".", ".."))

    def test_the_bases_of_a_numbered_name(self) -> None:
        pushed = {"photo.png", "a/b.c/notes", ".profile", "x.tar.gz", "photo", ".png"}
        for numbered, base in {
            "photo-1.png": ["photo.png"],
            "a/b.c/notes-12": ["a/b.c/notes"],
            ".profile-3": [".profile"],
            "x.tar-9999.gz": ["x.tar.gz"],
            "photo.png": [],
            "photo-0.png": [],
            "other-1.png": [],
            "-1.png": [],
        }.items():
            with self.subTest(numbered):
                self.assertEqual(names.bases(numbered, pushed), base)

    def test_a_long_name_is_shortened_for_its_number(self) -> None:
        long = "d/" + "x" * 251 + ".png"
        extended = "d/..." + "x" * 252
        pushed = {long, extended, "d/short.png"}
        self.assertEqual(names.bases("d/" + "x" * 249 + "-1.png", pushed), [long])
        self.assertEqual(names.bases("d/-1." + "x" * 252, pushed), [extended])
        self.assertEqual(names.bases("d/" + "y" * 249 + "-1.png", pushed), [])
        self.assertEqual(names.bases("d/" + "x" * 249 + "-1.jpg", pushed), [])
        self.assertEqual(names.bases("d/shor-1.png", pushed), [])


if __name__ == "__main__":
    unittest.main()
