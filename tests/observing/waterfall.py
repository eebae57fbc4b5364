"""``python -m tests.observing.waterfall SPANS.json PICTURE.png``: a trace as a picture.

The spans are those that a collector got of a real assessment (``write_spans``): with PROCTOR_TEST_SPANS=SPANS.json
the tests of this room write them. docs/images/trace.png is such a picture.
"""

import asyncio
import html
import json
import sys
from pathlib import Path
from typing import Any

from playwright.async_api import async_playwright

from tests.ui.browser import FLAGS, require_chromium

_COLOURS = {"proctor-gateway": "#4c78a8", "proctor-worker": "#54a24b", "proctor-simulator": "#e45756"}
_MODEL, _PARTICIPANT = "#b279a2", "#f58518"
_LEFT, _WIDTH, _ROW, _NAMES = 20, 1360, 18, 520
_REPEATED = 3
"""So many spans of one name within the same parent are shown, where there is nothing in them."""


def rows_of(spans: list[dict[str, Any]]) -> list[tuple[int, dict[str, Any]]]:
    """(depth, span), from the trace's first span down."""
    known = {span["span_id"] for span in spans}
    children: dict[str, list[dict[str, Any]]] = {}
    for span in sorted(spans, key=lambda each: int(each["start"])):
        children.setdefault(span["parent_id"] if span["parent_id"] in known else "", []).append(span)
    found: list[tuple[int, dict[str, Any]]] = []

    def walk(parent: str, depth: int) -> None:
        shown: dict[str, int] = {}
        for span in children.get(parent, []):
            shown[span["name"]] = shown.get(span["name"], 0) + 1
            if shown[span["name"]] > _REPEATED and span["span_id"] not in children:
                continue
            if span["name"].startswith("StartActivity:"):  # the moment at which the workflow wanted what runs in it
                walk(span["span_id"], depth)
                continue
            found.append((depth, span))
            walk(span["span_id"], depth + 1)

    walk("", 0)
    return found


def picture(spans: list[dict[str, Any]]) -> str:
    """The trace as an SVG in a page."""
    rows = rows_of(spans)
    began, ended = min(int(s["start"]) for s in spans), max(int(s["end"]) for s in spans)
    scale = (_WIDTH - _NAMES - 90) / (ended - began)
    height = (len(rows) + 4) * _ROW
    parts = [_heading(spans, began, ended)]
    for step in range(6):
        x = _LEFT + _NAMES + (ended - began) * scale * step / 5
        at = (ended - began) / 1e9 * step / 5
        parts.append(f'<line x1="{x:.0f}" x2="{x:.0f}" y1="{2.6 * _ROW}" y2="{height}" class="grid"/>')
        parts.append(f'<text x="{x:.0f}" y="{2.4 * _ROW}" class="at">{at:.2f} s</text>')
    for number, (depth, span) in enumerate(rows):
        y = (number + 3) * _ROW
        x = _LEFT + _NAMES + (int(span["start"]) - began) * scale
        width = max(1.5, (int(span["end"]) - int(span["start"])) * scale)
        told = _told(span)
        name = f'{html.escape(span["name"])}<tspan class="more">{told}</tspan>'
        parts.append(f'<text x="{_LEFT + 12 * depth}" y="{y + 12}">{name}</text>')
        bar = f'y="{y + 3}" width="{width:.1f}" height="{_ROW - 6}" rx="2" fill="{_colour(span)}"'
        parts.append(f'<rect x="{x:.1f}" {bar}/>')
        took = f"{(int(span['end']) - int(span['start'])) / 1e6:.0f} ms"
        parts.append(f'<text x="{x + width + 4:.1f}" y="{y + 12}" class="took">{took}</text>')
    style = (
        "text{font:11px system-ui,'DejaVu Sans',sans-serif;fill:#222}.more,.took,.at{fill:#777}"
        ".grid{stroke:#e5e5e5}.title{font-size:14px;font-weight:600}"
    )
    body = "".join(parts)
    return (
        f'<body style="margin:0;background:#fff"><svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH + 2 * _LEFT}" '
        f'height="{height + _ROW}"><style>{style}</style>{body}</svg></body>'
    )


def _heading(spans: list[dict[str, Any]], began: int, ended: int) -> str:
    said = f"One assessment: {len(spans)} spans in {(ended - began) / 1e9:.1f} s, trace {spans[0]['trace_id']}"
    legend = {**{name.removeprefix("proctor-"): colour for name, colour in _COLOURS.items()}}
    legend |= {"model": _MODEL, "participant": _PARTICIPANT}
    parts, x = [f'<text x="{_LEFT}" y="20" class="title">{said}</text>'], _LEFT + _NAMES + 260
    for name, colour in legend.items():
        parts.append(f'<rect x="{x}" y="10" width="10" height="10" rx="2" fill="{colour}"/>')
        parts.append(f'<text x="{x + 14}" y="19">{name}</text>')
        x += 100
    return "".join(parts)


def _colour(span: dict[str, Any]) -> str:
    if span["name"].startswith("chat "):
        return _MODEL
    return _PARTICIPANT if span["name"].startswith("invoke_agent ") else _COLOURS.get(span["service"], "#999")


def _told(span: dict[str, Any]) -> str:
    said = span["attributes"]
    if "gen_ai.usage.input_tokens" in said:
        return f"  {said['gen_ai.usage.input_tokens']} + {said['gen_ai.usage.output_tokens']} tokens"
    return f"  turn {said['proctor.turn']}" if "proctor.turn" in said else ""


async def draw(spans: list[dict[str, Any]], to: Path) -> None:
    """Have a Chromium draw a trace into a PNG."""
    async with async_playwright() as playwright:
        program = require_chromium(playwright.chromium.executable_path)
        browser = await playwright.chromium.launch(executable_path=program, args=FLAGS)
        page = await browser.new_page(viewport={"width": _WIDTH + 2 * _LEFT, "height": 600})
        await page.set_content(picture(spans))
        await page.screenshot(path=to, full_page=True)
        await browser.close()


if __name__ == "__main__":
    asyncio.run(draw(json.loads(Path(sys.argv[1]).read_text()), Path(sys.argv[2])))
