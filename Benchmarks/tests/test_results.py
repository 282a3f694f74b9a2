from __future__ import annotations

import unittest

from bench.results import Missing, Results

from . import samples


class SeriesTests(unittest.TestCase):
    def test_the_median_is_not_moved_by_one_bad_run(self) -> None:
        series = samples.series("a", 1.0, 9.0, 1.2)
        self.assertEqual(series.wall, 1.2)
        self.assertEqual(series.range, (1.0, 9.0))

    def test_of_an_even_number_the_median_lies_between(self) -> None:
        self.assertEqual(samples.series("a", 1.0, 2.0).wall, 1.5)


class ComparisonTests(unittest.TestCase):
    def test_figures_for_each_second_and_each_gigabyte(self) -> None:
        found = samples.comparison(samples.series("a", 2.0, cpu=3.0), size=500_000_000)
        self.assertEqual(found.throughput("a"), 250_000_000)
        self.assertEqual(found.cpu_per_gigabyte("a"), 6.0)

    def test_a_program_without_runs_is_missing(self) -> None:
        found = samples.comparison(samples.series("a"))
        with self.assertRaises(Missing):
            found.throughput("a")
        with self.assertRaises(Missing):
            found.named("b")


class ResultsTests(unittest.TestCase):
    def test_what_was_not_measured_is_missing(self) -> None:
        empty = Results("make bench", 3, [])
        with self.assertRaises(Missing):
            empty.comparison("big")
        with self.assertRaises(Missing):
            empty.figure("memory")

    def test_failures_name_set_and_program(self) -> None:
        broken = samples.series("nc")
        broken.failure = "it is broken"
        found = samples.results(big=samples.comparison(broken))
        found.errors.append("memory: out of it")
        self.assertEqual(found.failures(), ["memory: out of it", "big: nc: it is broken"])
