"""Plots as SVG, without scripts or styles; all names are escaped. Colours come from classes (``s0``…)."""

from collections.abc import Mapping, Sequence
from math import floor, log10

from markupsafe import Markup, escape

COLOURS = 8
"""The number of distinct colours for series in a plot."""

_MOST_DOTS = 400
"""The most points drawn for a series. If it has more, an even sample is drawn, since eyes can't separate more."""

_BINS = 20
"""Steps of a distribution from 0 to 100 %."""


def colour(number: int) -> str:
    return f"s{number % COLOURS}"


def interval(mean: float, low: float | None, high: float | None, number: int = 0) -> Markup:
    """Draw a mean and its interval on a line from 0 to 100, as SVG.

    Args:
        mean: in percent.
        low, high: the interval, in percent; None if there is none.
        number: the series' number, from 0, for its colour.
    """
    span = ""
    if low is not None and high is not None:
        span = f'<line class="span" x1="{low:.1f}" x2="{max(high, low + 0.5):.1f}" y1="6" y2="6"/>'
    label = f"{mean:.1f} %" + ("" if low is None or high is None else f", between {low:.1f} and {high:.1f}")
    return Markup(
        f'<svg class="interval {colour(number)}" viewBox="-2 0 104 12" preserveAspectRatio="none" role="img" '
        f'aria-label="{label}"><line class="track" x1="0" x2="100" y1="6" y2="6"/>{span}'
        f'<line class="mean" x1="{mean:.1f}" x2="{mean:.1f}" y1="1" y2="11"/></svg>'
    )


def dots(percents: Sequence[float | None]) -> Markup:
    """Draw each series' mean on a line from 0 to 100; None for a series without one."""
    marks = "".join(
        f'<circle class="{colour(n)}" cx="{percent:.1f}" cy="6" r="3.2"/>'
        for n, percent in enumerate(percents)
        if percent is not None
    )
    label = ", ".join("none" if percent is None else f"{percent:.0f} %" for percent in percents)
    return Markup(
        f'<svg class="dots" viewBox="-4 0 108 12" preserveAspectRatio="xMinYMid meet" role="img" aria-label="{label}">'
        f'<line class="track" x1="0" x2="100" y1="6" y2="6"/>{marks}</svg>'
    )


def distribution(values: Sequence[float], number: int = 0) -> Markup:
    """Draw how often each share of points was earned, as SVG.

    Args:
        values: percents, 0 to 100.
        number: the series' number, from 0, for its colour.
    """
    counts = [0] * _BINS
    for value in values:
        counts[min(int(value * _BINS / 100), _BINS - 1)] += 1
    most = max(counts, default=0) or 1
    width = 100 / _BINS
    bars = "".join(
        f'<rect x="{at * width + 0.3:.2f}" width="{width - 0.6:.2f}" y="{40 - 36 * count / most:.2f}" '
        f'height="{36 * count / most:.2f}"><title>{at * width:.0f} to {(at + 1) * width:.0f} %: {count}</title></rect>'
        for at, count in enumerate(counts)
        if count
    )
    label = f"{len(values)} runs; the most in one step of {width:.0f} points are {most}"
    return Markup(
        f'<svg class="distribution {colour(number)}" viewBox="0 0 100 41" preserveAspectRatio="none" role="img" '
        f'aria-label="{label}">{bars}<line class="axis" x1="0" x2="100" y1="40.5" y2="40.5"/></svg>'
    )


def curves(series: Sequence[tuple[str, Mapping[int, float]]], *, label: str) -> Markup:
    """Draw shares (0 to 1) over whole numbers from 1, one line for each series."""
    most = max((k for _, points in series for k in points), default=1)
    frame = _Frame(1, max(most, 2), 0, 1)
    lines = []
    for number, (name, points) in enumerate(series):
        ordered = sorted(points.items())
        path = " ".join(f"{frame.x(k):.1f},{frame.y(share):.1f}" for k, share in ordered)
        marks = "".join(
            f'<circle cx="{frame.x(k):.1f}" cy="{frame.y(share):.1f}" r="3"><title>{escape(name)}, k = {k}: '
            f"{share:.0%}</title></circle>"
            for k, share in ordered
        )
        lines.append(f'<g class="{colour(number)}"><polyline points="{path}"/>{marks}</g>')
    ticks = _whole_ticks(most)
    axes = frame.axes([(k, str(k)) for k in ticks], [(share, f"{share:.0%}") for share in (0, 0.25, 0.5, 0.75, 1)], "k")
    return _figure("curves", label, axes + "".join(lines))


def scatter(
    series: Sequence[tuple[str, Sequence[tuple[float, float]]]],
    middles: Sequence[tuple[float, float] | None],
    *,
    label: str,
    across: str,
) -> Markup:
    """Draw percents over another quantity, as SVG: a dot for each run, and a ring at each series' mean.

    Args:
        series: names, each with its points (x, percent).
        middles: the means of each series; None for one without points.
        label: a description of the plot, for people who can't see it.
        across: the name of x.
    """
    across_most = max((x for _, points in series for x, _ in points), default=0) or 1
    frame = _Frame(0, across_most, 0, 100)
    groups = []
    for number, ((name, points), middle) in enumerate(zip(series, middles, strict=True)):
        if middle is None:
            continue
        step = max(1, -(-len(points) // _MOST_DOTS))
        small = "".join(
            f'<circle class="run" cx="{frame.x(x):.1f}" cy="{frame.y(y):.1f}" r="2.5"/>' for x, y in points[::step]
        )
        ring = (
            f'<circle class="mean" cx="{frame.x(middle[0]):.1f}" cy="{frame.y(middle[1]):.1f}" r="6.5"><title>'
            f"{escape(name)}: {middle[1]:.1f} % at {middle[0]:.4g}</title></circle>"
        )
        groups.append(f'<g class="{colour(number)}">{small}{ring}</g>')
    ticks = [(value, f"{value:g}") for value in _round_ticks(across_most)]
    axes = frame.axes(ticks, [(share, f"{share:.0f} %") for share in (0, 25, 50, 75, 100)], across)
    return _figure("scatter", label, axes + "".join(groups))


class _Frame:
    """Positions of a plot's values: 440 wide, 240 high, with room for numbers on the left and below."""

    left, right, top, bottom = 44.0, 428.0, 10.0, 202.0

    def __init__(self, low_x: float, high_x: float, low_y: float, high_y: float) -> None:
        self._x, self._y = (low_x, high_x), (low_y, high_y)

    def x(self, value: float) -> float:
        low, high = self._x
        return self.left + (self.right - self.left) * (value - low) / (high - low)

    def y(self, value: float) -> float:
        low, high = self._y
        return self.bottom - (self.bottom - self.top) * (value - low) / (high - low)

    def axes(self, across: Sequence[tuple[float, str]], up: Sequence[tuple[float, str]], name: str) -> str:
        lines = [
            f'<line class="grid" x1="{self.left}" x2="{self.right}" y1="{self.y(at):.1f}" y2="{self.y(at):.1f}"/>'
            f'<text class="up" x="{self.left - 6}" y="{self.y(at) + 4:.1f}">{escape(text)}</text>'
            for at, text in up
        ]
        lines += [
            f'<text class="across" x="{self.x(at):.1f}" y="{self.bottom + 17}">{escape(text)}</text>'
            for at, text in across
        ]
        lines.append(f'<text class="across name" x="{(self.left + self.right) / 2}" y="236">{escape(name)}</text>')
        return "".join(lines)


def _figure(kind: str, label: str, inner: str) -> Markup:
    # Everything in it is numbers, our own words, or already escaped.
    return Markup(
        f'<svg class="plot {kind}" viewBox="0 0 440 240" role="img" aria-label="{escape(label)}">{inner}</svg>'
    )


def _whole_ticks(most: int) -> list[int]:
    step = max(1, -(-most // 8))
    return [*range(1, most, step), most] if step == 1 else [1, *range(step, most + 1, step)]


def _round_ticks(most: float) -> list[float]:
    raw = most / 4
    size = 10 ** floor(log10(raw))
    step = next(factor * size for factor in (1, 2, 5, 10) if factor * size >= raw)
    return [round(n * step, 10) for n in range(int(most / step + 1e-9) + 1)]
