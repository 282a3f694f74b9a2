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
            self.assertLessEqual(len(name.encode()), 255)
            self.assertNotIn("/", name)
            self.assertNotIn("\0", name)
            self.assertIsNone(names.original(name), name)

    def test_directories_are_legal(self) -> None:
        source = random.Random(2)
        made = {names.directory(source) for _ in range(500)}
        self.assertIn("", made)
        for path in made - {""}:
            self.assertTrue(path.endswith("/"))
            for part in path[:-1].split("/"):
                self.assertNotIn(part, ("", ".", ".."))

    def test_the_original_of_a_numbered_name(self) -> None:
        for numbered, original in {
            "photo-1.png": "photo.png",
            "a/b.c/notes-12": "a/b.c/notes",
            ".profile-3": ".profile",
            "x.tar-9999.gz": "x.tar.gz",
            "photo.png": None,
            "photo-0.png": None,
            "-1.png": None,
        }.items():
            with self.subTest(numbered):
                self.assertEqual(names.original(numbered), original)

    def test_a_long_name_is_shortened_for_its_number(self) -> None:
        long = "d/" + "x" * 251 + ".png"
        self.assertTrue(names.is_shortened("d/" + "x" * 249 + ".png", long))
        self.assertFalse(names.is_shortened("d/" + "y" * 249 + ".png", long))
        self.assertFalse(names.is_shortened("d/" + "x" * 249 + ".jpg", long))
        self.assertFalse(names.is_shortened("d/short.png", "d/shorter.png"))


if __name__ == "__main__":
    unittest.main()
