from __future__ import annotations

import unittest

from bench import names
from bench.report.markdown import page, series_line, table
from bench.results import Table

from . import samples


class MarkdownTests(unittest.TestCase):
    def test_numbers_are_aligned_to_the_right(self) -> None:
        written = table(["name", "seconds", "note"], [["1st", "1.5 (1–2)", "fine"]])
        self.assertEqual(written, "|name|seconds|note|\n|---|---:|---|\n|1st|1.5 (1–2)|fine|\n")

    def test_a_bar_in_a_cell_does_not_end_it(self) -> None:
        self.assertIn("a&#124;b", table(["x"], [["a|b"]]))

    def test_the_page_has_every_program_and_every_note(self) -> None:
        compared = samples.comparison(samples.series("fast", 0.5), samples.series("broken"), files=100)
        compared.notes.append("A note.")
        found = samples.results(big=compared)
        found.add("other", Table("Another", ["x"], [["7"]], ["Beside it."]))
        found.skipped["network"] = "needs root"
        written = page(found, [("chart.svg", "How fast")])
        for text in [
            "`make bench`",
            "![How fast](chart.svg)",
            "|processor|a fast one|",
            "|success means|programs|",
            "|verified|fast; broken|",
            "|program|One gigabyte|",
            "|fast|0.50, 1.00|",
            "|broken|failed|",
            "A note.",
            "### Another",
            "Beside it.",
            "Not measured: `network`: needs root.",
        ]:
            with self.subTest(text):
                self.assertIn(text, written)

    def test_without_a_chart_there_is_no_picture(self) -> None:
        self.assertNotIn("![", page(samples.results(), []))

    def test_bytes_sent_are_shown_where_they_matter(self) -> None:
        compared = samples.comparison(samples.series("a", 1.0, wire=430_000_000))
        self.assertNotIn("43%", page(samples.results(text=compared), []))
        compared.shows_wire = True
        self.assertIn("|43%|", page(samples.results(text=compared), []))

    def test_every_row_has_as_many_cells_as_the_header(self) -> None:
        compared = samples.comparison(samples.series("a", 1.0), samples.series("broken"), files=3)
        compared.shows_wire = True
        lines = page(samples.results(text=compared), []).split("|program|")[1].splitlines()
        self.assertEqual({line.count("|") for line in lines if line.startswith("|")}, {4})

    def test_a_grid_has_a_row_for_each_work_and_a_column_for_each_program(self) -> None:
        found = samples.grid(
            line_rate=500_000_000,
            one_file=samples.comparison(samples.series(names.TRANSFER_TLS, 2.2, 2.4, 2.0), samples.late("scp", 120)),
            two_files=samples.comparison(samples.late(names.TRANSFER_TLS, 120), samples.series("scp")),
        )
        found.notes.append("A note.")
        written = page(samples.results(far_lossy=found), [])
        for text in [
            "### Some works",
            "|seconds for|at the line rate|transfer, TLS|scp|lead|",
            "|---|---:|---:|---:|---:|",
            "|one file|2.00|2.20 (2.00–2.40)|>120|54.55×|",
            "|two files|2.00|>120|failed|–|",
            "|verified|transfer, TLS; scp|",
            "A note.",
        ]:
            with self.subTest(text):
                self.assertIn(text, written)

    def test_comparisons_of_the_same_programs_share_a_table(self) -> None:
        one, two = (samples.comparison(samples.series("a", 1.0), samples.series("b", wall)) for wall in (2.0, 3.0))
        one.title, two.title = "one", "two"
        one.notes, two.notes = ["A note."], ["A note."]
        written = page(samples.results(first=one, second=two), [])
        self.assertIn("|program|one|two|", written)
        self.assertIn("|b|2.00, 1.00|3.00, 1.00|", written)
        self.assertEqual(written.count("A note."), 1)

    def test_links_share_a_table_with_their_titles(self) -> None:
        works = [samples.grid(line_rate=1e9, a_file=samples.comparison(samples.series(names.TRANSFER_TLS, 1.0))) for _ in "12"]
        works[0].title, works[1].title = "near", "far"
        written = page(samples.results(near=works[0], far=works[1]), [])
        self.assertIn("|**far**||||", written)
        self.assertEqual(written.count("|seconds for|"), 1)

    def test_missed_bounds_are_listed_and_others_counted(self) -> None:
        found = samples.results()
        found.figures["memory"] = 65
        written = page(found, [])
        self.assertIn("0 of 1 bounds that this run measured are kept.", written)
        self.assertIn("|Memory of either side|at most 64 MiB|65.00 MiB|", written)

    def test_a_line_for_the_terminal(self) -> None:
        line = series_line(samples.comparison(samples.series("nc", 2.0, cpu=3.0)), samples.series("nc", 2.0, cpu=3.0))
        self.assertRegex(line, r"^nc +2\.00 s +3\.00 CPU-s +500 MB/s +3\.00 CPU-s/GB$")
