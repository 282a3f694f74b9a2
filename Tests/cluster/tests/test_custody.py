from __future__ import annotations

import unittest

from cluster.custody import Custody
from torture.sources import File

ONE, TWO = File(1000, "digest-1"), File(1000, "digest-2")
SHORT = File(3, "digest-3")


class CustodyTests(unittest.TestCase):
    def setUp(self) -> None:
        self.custody = Custody()

    def problems(self, **stored: File) -> list[str]:
        return list(self.custody.problems({path: file.digest for path, file in stored.items()}))

    def test_a_push_without_an_answer_may_have_stored_the_file_once(self) -> None:
        self.custody.send("a", ONE)
        self.assertEqual(self.problems(), [])
        self.assertEqual(self.problems(a=ONE), [])
        self.assertIn("at a path where nothing put it", self.problems(b=ONE)[0])

    def test_what_was_acknowledged_stays(self) -> None:
        self.custody.send("a", ONE)
        self.custody.acknowledge("a", ONE)
        self.assertEqual(self.problems(a=ONE), [])
        self.assertEqual(self.problems(), ["acknowledged and not there: 'a'"])
        self.assertEqual(self.custody.certain, 1)

    def test_a_repeated_push_stores_nothing_twice(self) -> None:
        self.custody.send("a", ONE)
        self.custody.send("b", ONE)
        self.assertEqual(self.problems(a=ONE, b=ONE), ["stored twice: ['a', 'b']"])

    def test_half_a_file_is_a_problem(self) -> None:
        self.custody.send("a", ONE)
        self.assertIn("half of it", self.problems(a=TWO)[0])

    def test_a_file_that_may_have_moved_is_at_one_of_the_paths(self) -> None:
        self.custody.acknowledge("a", ONE)
        self.custody.move("a", ONE, "b")
        self.assertEqual(self.problems(a=ONE), [])
        self.assertEqual(self.problems(b=ONE), [])
        self.assertEqual(self.problems(), ["acknowledged and not there: 'a' or 'b'"])
        self.custody.moved("a", ONE, "b")
        self.assertEqual(self.problems(b=ONE), [])
        self.assertEqual(len(self.problems(a=ONE)), 2)

    def test_short_files_are_known_by_their_path(self) -> None:
        for path in ("a", "b"):
            self.custody.acknowledge(path, SHORT)
        self.assertEqual(self.problems(a=SHORT, b=SHORT), [])
        self.assertEqual(self.problems(a=SHORT), ["acknowledged and not there: 'b'"])
        self.custody.move("a", SHORT, "c")
        self.assertEqual(self.problems(b=SHORT, c=SHORT), [])
        self.custody.moved("a", SHORT, "c")
        self.assertEqual(self.problems(b=SHORT, c=SHORT), [])
        self.assertEqual(len(self.problems(a=SHORT, b=SHORT)), 2)

    def test_replaced_and_removed_files(self) -> None:
        self.custody.acknowledge("a", ONE)
        self.custody.replace("a", ONE)
        self.custody.send("a", TWO)
        self.assertEqual(self.problems(a=ONE), [])
        self.assertEqual(self.problems(a=TWO), [])
        self.custody.acknowledge("a", TWO)
        self.custody.removed("a", ONE)
        self.assertEqual(self.problems(a=TWO), [])
        self.assertEqual(len(self.problems(a=ONE)), 2)
