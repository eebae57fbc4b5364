"""Writes the pages of the families in docs/families from their ``family.toml`` and the audit's figures.

``proctor scenarios audit NAME --seeds 101-125 --json FILE`` measures. ``python -m tests.docs.families FILE …`` puts the
rows of such files into ``figures.json``, and writes the pages and the plots; without files it only writes.
"""

import json
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.docs.plots import Line, plotted

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs" / "families"
FAMILIES = ROOT / "scenarios" / "families"
FIGURES = DOCS / "figures.json"

_BOTS = ("nothing", "everything", "answers all", "keywords", "memoriser")
_COLUMNS = (
    *("family", "ability", "instances", "violations", "keyword bot", "memoriser", "8-grams shared"),
    *("graded, p = 0.1", "p = 0.4", "least discrimination"),
)


def merged(figures: list[dict[str, Any]], measured: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The figures with measured rows in the place of those of the same family and difficulty."""
    rows = {(row["family"], row["difficulty"]): row for row in (*figures, *map(_condensed, measured))}
    return [rows[key] for key in sorted(rows)]


def _condensed(row: dict[str, Any]) -> dict[str, Any]:
    """A measured row whose shortcuts are the lines of the table of those above the bar; an own row is so already."""
    if all(isinstance(shortcut, str) for shortcut in row.get("shortcuts", ())):
        return row
    lines = []
    for shortcut in row.get("shortcuts", ()):
        if (gain := max(shortcut["gains"].values())) > shortcut["bar"]:
            best = sorted(shortcut["clues"].items(), key=lambda clue: -clue[1])
            clues = ", ".join(f"{name} +{value:.0f}" for name, value in best if value > shortcut["bar"])
            cells = f"{shortcut['subject']} | {shortcut['cases']} | {shortcut['baseline']:.0f} % | +{gain:.0f}"
            lines.append(f"{cells} | {clues or 'several together'}")
    known = [shortcut for shortcut in row.get("known", ()) if not shortcut.startswith("check 14")]
    return {**row, "shortcuts": lines, "known": known}


def pages() -> Iterator[tuple[Path, str]]:
    """Each file to be written, with its text."""
    figures = json.loads(FIGURES.read_text(encoding="utf-8"))
    names = sorted(path.parent.name for path in FAMILIES.glob("*/family.py"))
    by_family = {name: [row for row in figures if row["family"] == name] for name in names}
    yield DOCS / "index.md", _index(by_family)
    yield DOCS / "shortcuts.md", _shortcuts(figures)
    for name, rows in by_family.items():
        yield DOCS / f"{name}.md", _page(name, rows)
        if rows:
            yield DOCS / f"{name}.svg", _plot(name, rows)


def _about(name: str) -> dict[str, Any]:
    return tomllib.loads((FAMILIES / name / "family.toml").read_text(encoding="utf-8"))


def _percent(mean: list[float]) -> str:
    return f"{mean[0]:g} ± {mean[1]:g}" if mean[1] else f"{mean[0]:g}"


def _index(by_family: dict[str, list[dict[str, Any]]]) -> str:
    lines = [
        "# Families",
        "",
        "A family makes a day from a difficulty and a seed. [Make families](../FAMILIES.md) shows how to write one.",
        "The figures come from the audit: means of all difficulties, in percent of the points. They are of seeds 101",
        "to 125, measured on 29 November 2026, before people answered all questions. With these answers,",
        "4,115 plays of seed 101 earned the same; `find_a_slot`, `quiet_day` and `deadline_desk` were measured again.",
        "",
        f"| {' | '.join(_COLUMNS)} |",
        "| --- |" + " --- |" * (len(_COLUMNS) - 1),
    ]
    for name, rows in by_family.items():
        lines.append(f"| [{name}]({name}.md) | {_about(name)['ability']} | {' | '.join(_summary(rows))} |")
    return "\n".join(lines) + "\n"


def _shortcuts(figures: list[dict[str, Any]]) -> str:
    """The page of what the shortcut learner gains more than 10 points from, and of what else is known."""
    lines = [
        "# Shortcuts",
        "",
        "A tree and a linear model that understand no word guess the answers ([check 14](../FAMILIES.md#the-audit)).",
        "The gain is their share of right answers above chance, in points. The table lists gains above 10 points and",
        "three standard errors, with the clues that gain as much alone.",
        "",
        "| family | difficulty | duty and candidates | choices | chance | gain | clues |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    others = []
    for row in figures:
        where = f"{row['family']} | {row['difficulty']}"
        lines += [f"| {where} | {shortcut} |" for shortcut in row.get("shortcuts", ())]
        others += [f"| {where} | {name}: too few choices |" for name in row.get("too_few", ())]
        others += [f"| {where} | {known} |" for known in row.get("known", ())]
    lines += ["", "## Counts, equal answers, and too few choices", ""]
    lines += ["| family | difficulty | known |", "| --- | --- | --- |", *others]
    return "\n".join(lines) + "\n"


def _summary(rows: list[dict[str, Any]]) -> list[str]:
    if not rows:
        return ["–"] * 8
    count = len(rows)
    return [
        str(sum(row["instances"] for row in rows)),
        str(sum(row["violations"] for row in rows)),
        f"{sum(row['bots']['keywords'][0] for row in rows) / count:.1f}",
        f"{sum(row['bots']['memoriser'][0] for row in rows) / count:.1f}",
        f"{100 * max(row['shared_8_grams'] for row in rows):.1f} %",
        *(f"{sum(row['graded'][rate][0] for row in rows) / count:.0f}" for rate in ("0.1", "0.4")),
        f"{min(value for row in rows for value in row['discrimination'].values()):.2f}",
    ]


def _page(name: str, rows: list[dict[str, Any]]) -> str:
    about = _about(name)
    lines = [f"# {about['title']}", "", f"`{name}` · ability: {about['ability']}", "", about["asks"], ""]
    lines += ["## Difficulty", "", *(f"- {grows}" for grows in about["grows"]), ""]
    lines += ["## What its score can't see", "", about["cannot_see"], ""]
    if rows:
        lines += [
            "## Baselines",
            "",
            "Mean share of the points in percent, with half the width of its 95 % interval. A graded player takes all",
            "right actions, but slips at each reasoning point with probability p.",
            "",
            f"![Graded players of {name} by difficulty and lapse rate]({name}.svg)",
            "",
            "| player | " + " | ".join(f"difficulty {row['difficulty']}" for row in rows) + " |",
            "| --- |" + " --- |" * len(rows),
        ]
        lines += [f"| {bot} | {' | '.join(_percent(row['bots'][bot]) for row in rows)} |" for bot in _BOTS]
        for rate in rows[0]["graded"]:
            lines.append(f"| graded, p = {rate} | {' | '.join(_percent(row['graded'][rate]) for row in rows)} |")
        lines.append(f"| instances | {' | '.join(str(row['instances']) for row in rows)} |")
        lines.append("")
    lines += ["## See a day", "", f"`proctor scenarios show {name} --seed 3 --difficulty 2 --truth`"]
    return "\n".join(lines) + "\n"


def _plot(name: str, rows: list[dict[str, Any]]) -> str:
    """Means by lapse rate, a line for each difficulty, with 95 % intervals."""
    rates = list(rows[0]["graded"])
    lines = [Line(f"difficulty {row['difficulty']}", [tuple(row["graded"][rate]) for rate in rates]) for row in rows]
    return plotted(f"{name}: points by lapse rate and difficulty", "lapse rate p", rates, lines)


if __name__ == "__main__":
    rows = json.loads(FIGURES.read_text(encoding="utf-8"))
    for file in sys.argv[1:]:
        rows = merged(rows, json.loads(Path(file).read_text(encoding="utf-8")))
    FIGURES.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
    for path, text in pages():
        path.write_text(text, encoding="utf-8")
        print(path.relative_to(ROOT))
