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


    def test_who_took_too_long_counts_as_if_it_had_ended_then(self) -> None:
        found = samples.comparison(samples.series("a", 2.0), samples.late("b", 120), samples.late("c", 120))
        self.assertEqual(found.speed_against_fastest("a"), 60)
        self.assertEqual((found.speed_against_fastest("b"), found.throughput("b")), (0, 0))

    def test_who_has_failed_is_not_overtaken(self) -> None:
        found = samples.comparison(samples.series("a", 2.0), samples.series("b", 3.0), samples.series("failed"))
        for name in ("a", "failed"):
            with self.subTest(name), self.assertRaises(Missing):
                found.speed_against_fastest(name)

    def test_nobody_leads_alone(self) -> None:
        with self.assertRaises(Missing):
            samples.comparison(samples.series("a", 2.0)).speed_against_fastest("a")


class ResultsTests(unittest.TestCase):
    def test_what_was_not_measured_is_missing(self) -> None:
        empty = Results("make bench", 3, [])
        with self.assertRaises(Missing):
            empty.comparison("big")
        with self.assertRaises(Missing):
            empty.figure("memory")
        with self.assertRaises(Missing):
            empty.grid("trees")
        with self.assertRaises(Missing):
            samples.grid(push=samples.comparison()).work("pull")

    def test_failures_name_set_and_program(self) -> None:
        broken = samples.series("nc")
        broken.failure = "it is broken"
        found = samples.results(big=samples.comparison(broken))
        found.errors.append("memory: out of it")
        self.assertEqual(found.failures(), ["memory: out of it", "big: nc: it is broken"])

    def test_failures_in_a_grid_name_the_work_too(self) -> None:
        broken = samples.series("scp")
        broken.failure = "it is broken"
        found = samples.results(far_moon=samples.grid(one_file=samples.comparison(broken, samples.late("nc", 120))))
        self.assertEqual(found.failures(), ["far-moon: one file: scp: it is broken"])
