"""Plots of points in percent for the documents, as SVG."""

from collections.abc import Sequence
from typing import NamedTuple

_COLOURS = ("#1b6ca8", "#2a9d5c", "#c77d0a", "#b3261e", "#6a4c93", "#5f6b6d")
_WIDTH, _HEIGHT, _LEFT, _BOTTOM = 460, 250, 44, 40
_LEGEND = 104


class Line(NamedTuple):
    """A line: what it is called, and at each place its mean and half the width of its 95 % interval."""

    label: str
    means: Sequence[tuple[float, float]]


def plotted(title: str, across: str, places: Sequence[str], lines: Sequence[Line], *, legend: int = _LEGEND) -> str:
    """A plot of means in percent, with their intervals.

    Args:
        title: for readers who see no picture.
        across: what the places are, below them.
        places: their labels, from left to right.
        lines: one or more.
        legend: the room for the labels of the lines, in points.
    """
    width = _WIDTH - _LEGEND + legend
    inner_width, inner_height = _WIDTH - _LEFT - _LEGEND, _HEIGHT - _BOTTOM - 14

    def x(place: int) -> float:
        return _LEFT + inner_width * place / (len(places) - 1)

    def y(percent: float) -> float:
        return 14 + inner_height * (1 - percent / 100)

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {_HEIGHT}"',
        ' font-family="sans-serif" font-size="11">',
        f'<title>{title}</title><rect width="100%" height="100%" fill="#fff"/>',
    ]
    for percent in range(0, 101, 25):
        parts.append(f'<path d="M{_LEFT} {y(percent):.1f}H{_LEFT + inner_width}" stroke="#ddd"/>')
        parts.append(f'<text x="{_LEFT - 6}" y="{y(percent) + 4:.1f}" text-anchor="end">{percent}</text>')
    for place, label in enumerate(places):
        parts.append(f'<text x="{x(place):.1f}" y="{_HEIGHT - 22}" text-anchor="middle">{label}</text>')
    parts.append(f'<text x="{_LEFT + inner_width / 2:.0f}" y="{_HEIGHT - 6}" text-anchor="middle">{across}</text>')
    middle = 14 + inner_height // 2
    parts.append(
        f'<text x="12" y="{middle}" transform="rotate(-90 12 {middle})" text-anchor="middle">points in %</text>'
    )
    for number, line in enumerate(lines):
        colour = _COLOURS[number % len(_COLOURS)]
        path = "L".join(f"{x(place):.1f} {y(mean):.1f}" for place, (mean, _) in enumerate(line.means))
        parts.append(f'<path d="M{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
        for place, (mean, error) in enumerate(line.means):
            low, high = max(0.0, mean - error), min(100.0, mean + error)
            parts.append(f'<path d="M{x(place):.1f} {y(low):.1f}V{y(high):.1f}" stroke="{colour}"/>')
        top, right = 24 + 16 * number, _LEFT + inner_width + 8
        parts.append(f'<path d="M{right} {top}h16" stroke="{colour}" stroke-width="2"/>')
        parts.append(f'<text x="{right + 20}" y="{top + 4}">{line.label}</text>')
    return "\n".join([*parts, "</svg>", ""])
