from __future__ import annotations

import unittest

from mutants.mutant import Kind, Mutant
from mutants.placing import PlacingError, place


def _mutant(number: int, original: str, replacement: str = "", after: str = "", kind: Kind | None = None) -> Mutant:
    kind = kind or (Kind.EXPRESSION if replacement else Kind.STATEMENT)
    return Mutant(number, "Sources/TransferStore/A.swift", kind, original, replacement, after, "", "")


class PlacingTests(unittest.TestCase):
    def test_an_expression_has_the_mutant_beside_it(self) -> None:
        self.assertEqual(
            place("import TransferSystem\nguard a == b else {", [_mutant(3, "a == b", "true")]),
            "import TransferSystem\nguard (mutantIsOn(3) ? (true) : (a == b)) else {",
        )

    def test_a_statement_is_left_out_or_replaced(self) -> None:
        text = "import TransferSystem\ntry sync()"
        self.assertIn("if !mutantIsOn(3) { try sync() }", place(text, [_mutant(3, "try sync()")]))
        self.assertIn(
            "if mutantIsOn(3) { start() } else { try sync() }",
            place(text, [_mutant(3, "try sync()", "start()", kind=Kind.STATEMENT)]),
        )

    def test_the_switch_is_imported_once(self) -> None:
        mutants = [_mutant(3, "a == b", "true")]
        self.assertTrue(place("import Glibc\na == b", mutants).startswith("import TransferSystem\nimport Glibc\n"))
        for line in ("import TransferSystem", "package import TransferSystem"):
            self.assertEqual(place(f"{line}\na == b", mutants).count("import TransferSystem"), 1)

    def test_what_is_on_two_lines_is_found(self) -> None:
        self.assertIn("(mutantIsOn(3) ? (a) : (a\n    && b))", place("x = a\n    && b", [_mutant(3, "a && b", "a")]))

    def test_the_first_behind_a_context_is_meant(self) -> None:
        placed = place("a(); func f() { a(); a() }", [_mutant(3, "a()", after="func f() {")])
        self.assertIn("a(); func f() { if !mutantIsOn(3) { a() }; a() }", placed)

    def test_one_inside_another(self) -> None:
        placed = place("if a { b() }", [_mutant(3, "a", "true"), _mutant(4, "if a { b() }")])
        self.assertIn("if !mutantIsOn(4) { if (mutantIsOn(3) ? (true) : (a)) { b() } }", placed)

    def test_two_of_one_place_are_refused_when_they_overlap(self) -> None:
        with self.assertRaisesRegex(PlacingError, "3 and 4"):
            place("a b c", [_mutant(3, "a b", "x"), _mutant(4, "b c", "x")])

    def test_what_no_longer_matches_is_said(self) -> None:
        for text, mutant, reason in [
            ("b", _mutant(3, "a", "b"), "mutant 3: .*A.swift has 'a' no longer"),
            ("a a", _mutant(3, "a", "b"), "'a' 2 times, not once"),
            ("a f f", _mutant(3, "a", "b", after="f"), "'f' 2 times"),
            ("a f", _mutant(3, "a", "b", after="f"), "'a' no longer behind 'f'"),
            ('f("""\n a\n """)', _mutant(3, "a", "b"), "part of a text"),
            ("let x = a()", _mutant(3, "a()"), "part of an expression"),
            ("return try a()", _mutant(3, "a()"), "part of an expression"),
        ]:
            with self.subTest(reason), self.assertRaisesRegex(PlacingError, reason):
                place(text, [mutant])
