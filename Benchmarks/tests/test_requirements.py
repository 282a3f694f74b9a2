from __future__ import annotations

import unittest
from collections.abc import Callable

from bench import names
from bench.requirements import REQUIREMENTS, Requirement, Verdict, verdicts
from bench.results import Results

from . import samples


def _empty() -> Results:
    return Results("make bench", 3, [])


def _always(figure: float) -> Callable[[Results], float]:
    return lambda _: figure


def _verdict(results: Results, start: str) -> Verdict:
    return next(verdict for verdict in verdicts(results) if verdict.requirement.text.startswith(start))


class RequirementTests(unittest.TestCase):
    def test_the_bound_itself_is_good_enough(self) -> None:
        for is_upper in (False, True):
            requirement = Requirement("", _always(2.0), 2.0, is_upper=is_upper)
            self.assertTrue(requirement.judge(_empty()).passed)

    def test_beyond_the_bound_depends_on_its_side(self) -> None:
        for measured, is_upper, passed in [
            (2.1, False, True),
            (1.9, False, False),
            (2.1, True, False),
            (1.9, True, True),
        ]:
            with self.subTest(measured=measured, is_upper=is_upper):
                requirement = Requirement("", _always(measured), 2.0, is_upper=is_upper)
                self.assertEqual(requirement.judge(_empty()).passed, passed)

    def test_what_was_not_measured_is_neither_passed_nor_failed(self) -> None:
        for verdict in verdicts(_empty()):
            with self.subTest(verdict.requirement.text):
                self.assertIsNone(verdict.passed)
                self.assertEqual(verdict.word, "not measured")

    def test_speed_is_throughput_against_throughput(self) -> None:
        big = samples.comparison(
            samples.series(names.NGINX, 1.7), samples.series(names.RSYNC, 1.9), samples.series(names.TRANSFER, 1.0)
        )
        found = samples.results(big=big)
        self.assertEqual(_verdict(found, "1 GiB: speed against nginx").word, "PASS")
        self.assertEqual(_verdict(found, "1 GiB: speed against the rsync").word, "FAIL")

    def test_photos_are_compared_with_the_fastest(self) -> None:
        photos = samples.comparison(
            samples.series(names.NETCAT_TAR, 4.0),
            samples.series(names.RSYNC, 2.0),
            samples.series(names.NGINX, 3.0),
            samples.series(names.TRANSFER, 1.0),
        )
        self.assertEqual(_verdict(samples.results(photos=photos), "Photos").measured, 2.0)

    def test_the_steps_of_trees_are_compared_with_rsync(self) -> None:
        pushed = samples.comparison(samples.series(names.TRANSFER_TLS, 2.0), samples.series(names.RSYNC, 2.6))
        found = samples.results(trees=samples.grid(first_push=pushed))
        self.assertEqual(_verdict(found, "100,000 small files, first push").measured, 1.3)
        self.assertIsNone(_verdict(found, "100,000 small files, pull:").measured)

    def test_a_far_link_has_a_line_rate(self) -> None:
        for series, word in [
            (samples.series(names.TRANSFER_TLS, 10.0), "PASS"),
            (samples.series(names.TRANSFER_TLS, 12.0), "FAIL"),
            (samples.late(names.TRANSFER_TLS, 120), "FAIL"),
        ]:
            with self.subTest(word):
                grid = samples.grid(line_rate=105_000_000, one_file_of_60_MB=samples.comparison(series))
                found = samples.results(far_continent=grid)
                self.assertEqual(_verdict(found, f"Far link continent, {names.FAR_BIG}").word, word)

    def test_the_least_lead_counts(self) -> None:
        clear = samples.comparison(samples.series(names.TRANSFER_TLS, 1.0), samples.late("scp", 120))
        narrow = samples.comparison(samples.series(names.TRANSFER_TLS, 1.0), samples.series("scp", 1.1))
        found = samples.results(far_moon=samples.grid(clear=clear, narrow=narrow))
        self.assertAlmostEqual(_verdict(found, "Far link moon").measured or 0, 1.1)

    def test_of_two_file_systems_the_worse_counts(self) -> None:
        found = _empty()
        found.figures.update({"sizes.tmpfs": 1.05, "sizes.ext4": 1.3})
        self.assertEqual(_verdict(found, "10 MB").measured, 1.3)

    def test_a_line_says_verdict_figure_and_bound(self) -> None:
        requirement = Requirement("Memory", _always(12.0), 64, "MiB", is_upper=True)
        self.assertEqual(str(requirement.judge(_empty())), "PASS  Memory: 12.00 MiB, at most 64 MiB")

    def test_no_two_requirements_have_the_same_text(self) -> None:
        self.assertEqual(len({requirement.text for requirement in REQUIREMENTS}), len(REQUIREMENTS))
