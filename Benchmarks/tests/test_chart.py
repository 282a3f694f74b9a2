from __future__ import annotations

import unittest
from xml.etree import ElementTree

from bench import names
from bench.report.chart import Bar, Chart, Group, Role, scale
from bench.report.comparison_chart import comparison_chart
from bench.report.far_chart import far_chart

from . import samples

_SVG = "{http://www.w3.org/2000/svg}"


def _chart() -> Chart:
    bars = [Bar("slow & steady", 0.25, "10 MB/s"), Bar("base", 1.0, "40 MB/s", Role.BASELINE)]
    return Chart("Title", "Below it", [Group("First", bars), Group("Second", [Bar("own", 2.1, "84 MB/s", Role.OWN)])])


class ScaleTests(unittest.TestCase):
    def test_it_reaches_the_longest_bar_with_few_lines(self) -> None:
        for longest in (0.3, 0.99, 1.0, 1.7, 2.5, 7.9, 8.1, 40.0, 123.0):
            with self.subTest(longest):
                lines = scale(longest)
                self.assertEqual(lines[0], 0)
                self.assertGreaterEqual(lines[-1], longest)
                self.assertIn(1.0, lines)
                self.assertLessEqual(len(lines), 11)
                self.assertEqual(lines, sorted(lines))


class ChartTests(unittest.TestCase):
    def setUp(self) -> None:
        self.root = ElementTree.fromstring(_chart().svg())
        self.bars = self.root.findall(f"{_SVG}rect")
        self.texts = self.root.findall(f"{_SVG}text")

    def test_lengths_are_proportional_and_begin_at_nought(self) -> None:
        widths = [float(bar.get("width", "")) for bar in self.bars]
        self.assertAlmostEqual(widths[1] / widths[0], 4, places=1)
        self.assertAlmostEqual(widths[2] / widths[1], 2.1, places=1)
        self.assertEqual(len({bar.get("x") for bar in self.bars}), 1)

    def test_every_program_is_named_with_its_figure(self) -> None:
        written = [text.text for text in self.texts]
        for expected in ["Title", "Below it", "First", "slow & steady", "0.25×", "10 MB/s", "own", "2.10×"]:
            self.assertIn(expected, written)

    def test_rows_do_not_overlap(self) -> None:
        tops = [float(bar.get("y", "")) for bar in self.bars]
        heights = [float(bar.get("height", "")) for bar in self.bars]
        for above, height, below in zip(tops, heights, tops[1:]):
            self.assertGreaterEqual(below, above + height)

    def test_everything_is_inside(self) -> None:
        width, height = (float(self.root.get(name, "")) for name in ("width", "height"))
        for text in self.texts:
            self.assertTrue(0 <= float(text.get("x", "")) <= width and 0 < float(text.get("y", "")) < height)
        last = self.bars[-1]
        self.assertLess(float(last.get("y", "")) + float(last.get("height", "")), height)


class ComparisonChartTests(unittest.TestCase):
    def test_nothing_measured_is_nothing_to_draw(self) -> None:
        self.assertIsNone(comparison_chart(samples.results()))

    def test_a_set_without_its_baseline_is_left_out(self) -> None:
        alone = samples.comparison(samples.series(names.TRANSFER, 1.0))
        self.assertIsNone(comparison_chart(samples.results(big=alone)))

    def test_rsync_is_one(self) -> None:
        both = [samples.series(names.RSYNC, 2.0), samples.series(names.TRANSFER, 1.0), samples.series("broken")]
        chart = comparison_chart(samples.results(big=samples.comparison(*both)))
        assert chart is not None
        bars = chart.groups[0].bars
        self.assertEqual([(bar.label, bar.value) for bar in bars], [(names.RSYNC, 1.0), (names.TRANSFER, 2.0)])
        self.assertEqual([bar.role for bar in bars], [Role.BASELINE, Role.OWN])
        self.assertEqual(bars[1].figure, "1,000 MB/s")

    def test_small_files_are_counted(self) -> None:
        small = samples.comparison(samples.series(names.RSYNC, 2.0), files=10_000)
        chart = comparison_chart(samples.results(small=small))
        assert chart is not None
        self.assertEqual(chart.groups[0].bars[0].figure, "5,000 files/s")

    def test_every_step_of_trees_is_a_bar(self) -> None:
        push = samples.comparison(samples.series(names.TRANSFER_TLS, 1.0), samples.series(names.RSYNC, 1.5))
        pull = samples.comparison(samples.series(names.TRANSFER_TLS, 1.0), samples.series(names.RSYNC))
        chart = comparison_chart(samples.results(trees=samples.grid(push=push, pull=pull)))
        assert chart is not None
        bars = chart.groups[0].bars
        self.assertEqual([(bar.label, bar.value, bar.figure) for bar in bars], [("push", 1.5, "1.00 s")])


class FarChartTests(unittest.TestCase):
    def test_nothing_measured_is_nothing_to_draw(self) -> None:
        self.assertIsNone(far_chart(samples.results()))

    def test_the_fastest_other_is_one(self) -> None:
        others = [samples.series("scp", 9.0), samples.series(names.RSYNC, 3.0), samples.late("curl", 120)]
        work = samples.comparison(samples.series(names.TRANSFER_TLS, 2.0), *others)
        chart = far_chart(samples.results(far_moon=samples.grid(one_file=work)))
        assert chart is not None
        self.assertEqual([(bar.label, bar.value) for bar in chart.groups[0].bars], [("one file", 1.5)])
