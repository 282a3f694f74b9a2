"""A chart of horizontal bars in groups, as SVG that is readable on light and on dark pages."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from xml.sax.saxutils import escape

# All lengths are in pixels.
_WIDTH = 960
_MARGIN = 16
_BARS = 320
_VALUES = 820
_PLOT_END = 760
_HEAD = 90
_TITLE = 28
_ROW = 24
_BAR = 16
_GAP = 22
_FOOT = 12

# Maximum number of lines of the scale.
_MOST_STEPS = 8

_STYLE = """
text {
  font: 13px system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif;
  font-variant-numeric: tabular-nums; fill: #1f2328;
}
.title { font-size: 18px; font-weight: 600; }
.group { font-weight: 600; }
.quiet { fill: #59636e; }
.own-text { font-weight: 600; }
.scale { stroke: #d1d9e0; stroke-width: 1; }
.one { stroke: #59636e; stroke-width: 1; }
.peer { fill: #afb8c1; }
.baseline { fill: #6e7781; }
.own { fill: #0969da; }
@media (prefers-color-scheme: dark) {
  text { fill: #e6edf3; }
  .quiet { fill: #9198a1; }
  .scale { stroke: #30363d; }
  .one { stroke: #9198a1; }
  .peer { fill: #565d66; }
  .baseline { fill: #8b949e; }
  .own { fill: #4493f8; }
}
"""


class Role(Enum):
    """How a bar is drawn; the values are classes of the style."""

    OWN = "own"
    PEER = "peer"
    BASELINE = "baseline"


@dataclass(frozen=True)
class Bar:
    """The bar of one program."""

    label: str
    value: float
    """The length of the bar, in multiples of 1."""

    figure: str
    """The text at the end of the row, beside the value."""

    role: Role = Role.PEER


@dataclass(frozen=True)
class Group:
    """Bars that are compared with each other; at least one."""

    title: str
    bars: list[Bar]

    @property
    def height(self) -> int:
        return _TITLE + _ROW * len(self.bars)


@dataclass(frozen=True)
class Chart:
    """Groups of bars, one below the other, on one scale that begins at 0. There is at least one group."""

    title: str
    subtitle: str
    groups: list[Group]

    def svg(self) -> str:
        """The whole SVG document."""
        height = _HEAD + sum(group.height + _GAP for group in self.groups) - _GAP + _FOOT
        parts = [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" width="{_WIDTH}" '
            f'height="{height}" role="img" aria-label="{escape(self.title)}">',
            f"<style>{_STYLE}</style>",
            _text(_MARGIN, 30, self.title, "title"),
            _text(_MARGIN, 53, self.subtitle, "quiet"),
        ]
        parts += [_text(self._x(value), _HEAD - 6, f"{value:g}×", "quiet", "middle") for value in self._lines]
        top = _HEAD
        for group in self.groups:
            parts += self._group(group, top)
            top += group.height + _GAP
        return "\n".join([*parts, "</svg>", ""])

    @cached_property
    def _lines(self) -> list[float]:
        """The lines of the scale; the last one is at or beyond the end of the longest bar."""
        return scale(max(bar.value for group in self.groups for bar in group.bars))

    def _x(self, value: float) -> float:
        return _BARS + value / self._lines[-1] * (_PLOT_END - _BARS)

    def _group(self, group: Group, top: int) -> list[str]:
        parts = [_text(_MARGIN, top + 18, group.title, "group")]
        first, last = top + _TITLE - 3, top + group.height - _ROW + _BAR + 3
        parts += [_line(self._x(value), first, last, "one" if value == 1 else "scale") for value in self._lines]
        for number, bar in enumerate(group.bars):
            parts += self._bar(bar, top + _TITLE + number * _ROW)
        return parts

    def _bar(self, bar: Bar, top: int) -> list[str]:
        baseline = top + _BAR - 3
        emphasis = "own-text" if bar.role is Role.OWN else ""
        width = max(self._x(bar.value) - _BARS, 1)
        return [
            _text(_BARS - 10, baseline, bar.label, emphasis, "end"),
            f'<rect class="{bar.role.value}" x="{_BARS}" y="{top}" width="{width:.1f}" height="{_BAR}" rx="2"/>',
            _text(_VALUES, baseline, f"{bar.value:.2f}×", emphasis, "end"),
            _text(_WIDTH - _MARGIN, baseline, bar.figure, emphasis, "end"),
        ]


def scale(longest: float) -> list[float]:
    """The lines of a scale from 0 to `longest` or a little beyond, few of them and at round numbers; one is at 1."""
    step = next((step for step in (0.25, 0.5, 1) if longest / step <= _MOST_STEPS), math.ceil(longest / _MOST_STEPS))
    lines = [number * step for number in range(math.ceil(longest / step) + 1)]
    return sorted({*lines, 1.0})


def _text(x: float, y: float, text: str, style: str = "", anchor: str = "start") -> str:
    kind = f' class="{style}"' if style else ""
    return f'<text{kind} x="{x:.1f}" y="{y}" text-anchor="{anchor}">{escape(text)}</text>'


def _line(x: float, top: float, bottom: float, style: str) -> str:
    return f'<line class="{style}" x1="{x:.1f}" x2="{x:.1f}" y1="{top}" y2="{bottom}"/>'
