from __future__ import annotations

import unittest

from bench import names
from bench.report.markdown import page, series_line, table
from bench.results import Table

from . import samples


class MarkdownTests(unittest.TestCase):
    def test_numbers_are_aligned_to_the_right(self) -> None:
        written = table(["name", "seconds", "note"], [["1st", "1.5 (1–2)", "fine"]])
        self.assertEqual(written, "| name | seconds | note |\n| --- | ---: | --- |\n| 1st | 1.5 (1–2) | fine |\n")

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
            "| processor | a fast one |",
            "| fast | verified | 0.50 (0.50–0.50) | 1.00 | 2,000 | 200 | 1.00 |",
            "| broken | failed |",
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
        self.assertIn("| 43% |", page(samples.results(text=compared), []))

    def test_every_row_has_as_many_cells_as_the_header(self) -> None:
        compared = samples.comparison(samples.series("a", 1.0), samples.series("broken"), files=3)
        compared.shows_wire = True
        lines = page(samples.results(text=compared), []).split("### ")[1].splitlines()
        self.assertEqual({line.count("|") for line in lines if line.startswith("|")}, {9})

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
            "| work, in seconds | at the line rate | transfer, TLS | scp | transfer, TLS against the fastest other |",
            "| --- | ---: | ---: | --- | ---: |",
            "| one file | 2.00 | 2.20 (2.00–2.40) | over 120 | 54.55 × |",
            "| two files | 2.00 | over 120 | failed | – |",
            "Success means for transfer, TLS: verified; for scp: verified.",
            "A note.",
        ]:
            with self.subTest(text):
                self.assertIn(text, written)

    def test_a_line_for_the_terminal(self) -> None:
        line = series_line(samples.comparison(samples.series("nc", 2.0, cpu=3.0)), samples.series("nc", 2.0, cpu=3.0))
        self.assertRegex(line, r"^nc +2\.00 s +3\.00 CPU-s +500 MB/s +3\.00 CPU-s/GB$")
