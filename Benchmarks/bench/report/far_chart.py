"""The chart of the far links: the project's program relative to the fastest other one."""

from __future__ import annotations

from .. import names
from ..results import Comparison, Missing, Results
from .chart import Bar, Chart, Group, Role


def far_chart(results: Results) -> Chart | None:
    """The chart, or None if no far link was measured."""
    groups = [group for link in names.FAR_LINKS if (group := _group(link, results))]
    if not groups:
        return None
    subtitle = "How many times as fast as the fastest of all other programs (1×); longer is faster."
    return Chart("Far links: speed with TLS, relative to the fastest other program", subtitle, groups)


def _group(link: str, results: Results) -> Group | None:
    try:
        grid = results.grid(names.far_set(link))
    except Missing:
        return None
    bars = [bar for work in grid.works if (bar := _bar(work))]
    return Group(grid.title, bars) if bars else None


def _bar(work: Comparison) -> Bar | None:
    try:
        wall = work.named(names.TRANSFER_TLS).wall
        return Bar(work.title, work.speed_against_fastest(names.TRANSFER_TLS), f"{wall:.2f} s", Role.OWN)
    except Missing:
        return None
