"""The picture of docs/SCALE.md: how much of each resource is used, against how many assessments a night has."""

import math
from collections.abc import Callable
from html import escape
from pathlib import Path

from benchmarks.scale.document import number, share
from benchmarks.scale.outcome import Simulated
from benchmarks.scale.settings import Settings
from benchmarks.scale.walls import Resource, Sized

PICTURE = Path(__file__).parents[2] / "docs" / "images" / "scale.svg"

_WIDTH, _LEFT, _RIGHT, _TOP, _ROW, _BAR = 1000, 268, 876, 112, 34, 20
_STEPS = ((0.0, 0.1, "#dbeafe"), (0.1, 0.4, "#93c5fd"), (0.4, 0.7, "#3b82f6"), (0.7, 1.0, "#f59e0b"))
_FULL = "#dc2626"
_INK, _GREY, _LINE = "#111827", "#6b7280", "#e5e7eb"


def picture(settings: Settings, sized: Sized, simulated: Simulated) -> str:
    """An SVG: a row for each resource, the first wall on top; where a row turns red, there is no more of it."""
    seconds, wanted = settings.night.seconds, settings.night.assessments
    walls = sized.walls(seconds)
    lowest = 10 ** math.floor(math.log10(min(walls[0].most(seconds) / 12, wanted / 12)))
    highest = 10 ** math.ceil(math.log10(max(wanted * 8, walls[0].most(seconds) * 8)))

    def x(count: float) -> float:
        share = math.log10(min(max(count, lowest), highest) / lowest) / math.log10(highest / lowest)
        return _LEFT + share * (_RIGHT - _LEFT)

    bottom = _TOP + len(walls) * _ROW
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {bottom + 92}" width="{_WIDTH}" '
        f'font-family="system-ui, -apple-system, Segoe UI, Roboto, sans-serif" font-size="13" fill="{_INK}">',
        '<defs><pattern id="full" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">'
        '<rect width="6" height="6" fill="#fee2e2"/><rect width="2" height="6" fill="#fca5a5"/></pattern></defs>',
        f'<rect width="{_WIDTH}" height="{bottom + 92}" rx="10" fill="#ffffff"/>',
        '<text x="24" y="36" font-size="19" font-weight="600">How much of each resource is used</text>',
        f'<text x="24" y="58" fill="{_GREY}">against assessments in a night of {settings.night.hours:g} hours, with '
        f"{_count(sized.workers, 'worker process', 'worker processes')}, "
        f"{_count(sized.simulators, 'simulator host', 'simulator hosts')} and "
        f"{_count(sized.gateways, 'gateway', 'gateways')}</text>",
    ]
    for power in range(round(math.log10(lowest)), round(math.log10(highest)) + 1):
        at = x(10**power)
        parts.append(f'<line x1="{at:.1f}" x2="{at:.1f}" y1="{_TOP - 8}" y2="{bottom}" stroke="{_LINE}"/>')
        if at < _RIGHT - 1:  # the last one would stand in the next column
            parts.append(f'<text x="{at:.1f}" y="{_TOP - 14}" text-anchor="middle" fill="{_GREY}">{10**power:,}</text>')
    points = _simulated(walls, simulated, x)
    for place, wall in enumerate(walls):
        parts += _row(wall, _TOP + place * _ROW, seconds, wanted, x)
    here = x(wanted)
    parts += [
        f'<line x1="{here:.1f}" x2="{here:.1f}" y1="{_TOP - 8}" y2="{bottom + 4}" stroke="{_INK}" '
        'stroke-width="1.5" stroke-dasharray="4 3"/>',
        f'<text x="{here:.1f}" y="{bottom + 20}" text-anchor="middle" font-weight="600">{wanted:,}</text>',
        f'<text x="{_RIGHT + 14}" y="{_TOP - 14}" fill="{_GREY}">used there</text>',
    ]
    parts += points
    parts += _legend(bottom + 58)
    return "\n".join([*parts, "</svg>"]) + "\n"


def _count(count: int, one: str, more: str) -> str:
    return f"{count:,} {one if count == 1 else more}"


def _row(wall: Resource, top: float, seconds: float, wanted: float, x: Callable[[float], float]) -> list[str]:
    most, middle = wall.most(seconds), top + _BAR / 2 + 4.5
    parts = [f'<text x="{_LEFT - 14}" y="{middle}" text-anchor="end">{escape(wall.name)}</text>']
    for begin, end, colour in _STEPS:
        left, right = x(begin * most), x(end * most)
        if right > left:
            parts.append(f'<rect x="{left:.1f}" y="{top}" width="{right - left:.1f}" height="{_BAR}" fill="{colour}"/>')
    wall_at = x(most)
    if wall_at < _RIGHT:
        beside = f'x="{wall_at + 13:.1f}"' if wall_at < _RIGHT - 80 else f'x="{wall_at - 9:.1f}" text-anchor="end"'
        parts += [
            f'<rect x="{wall_at:.1f}" y="{top}" width="{_RIGHT - wall_at:.1f}" height="{_BAR}" fill="url(#full)"/>',
            f'<rect x="{wall_at - 1.5:.1f}" y="{top - 3}" width="3" height="{_BAR + 6}" fill="{_FULL}"/>',
            f'<text {beside} y="{middle}" font-size="12" font-weight="600" fill="#7f1d1d" '
            f'stroke="#ffffff" stroke-width="3" paint-order="stroke">{number(most)}</text>',
        ]
    used = wall.used(wanted / seconds)
    colour = _FULL if used >= 1 else _INK
    parts.append(f'<text x="{_RIGHT + 14}" y="{middle}" fill="{colour}" font-weight="600">{share(used)}</text>')
    return parts


def _simulated(walls: list[Resource], simulated: Simulated, x: Callable[[float], float]) -> list[str]:
    """A point for each part of a night that was simulated: in the row of what it used most."""
    parts = []
    for part in simulated.parts:
        key = max(part.used, key=lambda name: part.used[name])
        for place, wall in enumerate(walls):
            if wall.key == key:
                at = f'cx="{x(part.assessments):.1f}" cy="{_TOP + place * _ROW + _BAR / 2}"'
                parts.append(f'<circle {at} r="5" fill="#ffffff" stroke="{_INK}" stroke-width="2"/>')
    return parts


def _legend(top: float) -> list[str]:
    parts, at = [], float(_LEFT)
    for _, end, colour in _STEPS:
        parts.append(f'<rect x="{at}" y="{top}" width="14" height="14" fill="{colour}"/>')
        parts.append(f'<text x="{at + 20}" y="{top + 12}" fill="{_GREY}">to {end * 100:.0f} %</text>')
        at += 92
    parts.append(f'<rect x="{at}" y="{top}" width="14" height="14" fill="url(#full)"/>')
    parts.append(f'<text x="{at + 20}" y="{top + 12}" fill="{_GREY}">no more of it</text>')
    at += 120
    parts.append(f'<circle cx="{at + 7}" cy="{top + 7}" r="5" fill="#ffffff" stroke="{_INK}" stroke-width="2"/>')
    parts.append(f'<text x="{at + 20}" y="{top + 12}" fill="{_GREY}">simulated, too</text>')
    return parts
