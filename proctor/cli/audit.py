"""``proctor scenarios audit``: its progress, its table and its figures."""

import sys
import time
from collections.abc import Sequence
from statistics import fmean, stdev
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from proctor.local.audit.families import Cell, FamilyAudit, run_cells
from proctor.local.audit.instances import Report

CHECKS = {
    1: "oracle",
    2: "bots",
    3: "lapses",
    4: "ways",
    5: "closed world",
    6: "support",
    7: "uniqueness",
    8: "secrets",
    9: "memoriser",
    10: "8-grams",
    11: "graded",
    12: "conditions",
    17: "wordings",
    18: "cheats",
    13: "family share",
    14: "shortcuts",
    15: "constants",
    16: "equal answers",
}

_RATES_SHOWN = (0.1, 0.4)
_LEARNED = ("w/o", "only", "gain", "known")
"""Columns: the points without the duties that name the family; the points with these alone; the shortcut learner's
largest gain without known shortcuts, in points; the number of known shortcuts.
"""
_INSTANCES_A_LINE = 25  # in a log, progress is one line for this number of instances


def watched(cells: Sequence[Cell], processes: int, console: Console) -> list[Report]:
    """Audit instances, and show the progress."""
    bar = (TextColumn("audited"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    reports: list[Report] = []
    began, bad = time.monotonic(), 0
    with Progress(*bar, TextColumn("{task.fields[bad]}"), console=console, transient=True) as progress:
        task = progress.add_task("audit", total=len(cells), bad="")
        for report in run_cells(cells, processes):
            reports.append(report)
            bad += len(report.violations)
            progress.update(task, advance=1, bad=f"{bad} violations" if bad else "")
            if not console.is_terminal:
                _log_progress(reports, len(cells), bad, time.monotonic() - began)
    return reports


def _log_progress(reports: Sequence[Report], total: int, bad: int, seconds: float) -> None:
    """Print progress to stderr if there is no terminal: a line for some instances, and for each with violations."""
    last = reports[-1]
    if last.violations:
        check, sentence = last.violations[0]
        more = f" (and {len(last.violations) - 1} more)" if len(last.violations) > 1 else ""
        where = f"{last.family}, difficulty {last.difficulty}, seed {last.seed}"
        print(f"check {check}, {where}: {sentence}{more}", file=sys.stderr, flush=True)
    if len(reports) % _INSTANCES_A_LINE == 0:
        print(
            f"audited {len(reports)} of {total} instances, {bad} violations, {seconds:.0f} s",
            file=sys.stderr,
            flush=True,
        )


def make_table(audits: Sequence[FamilyAudit]) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0), header_style="bold")
    table.add_column("family")
    for name in (
        "d",
        "days",
        "bad",
        "keyw.",
        "memo.",
        "8-gr.",
        *(f"p={rate:g}" for rate in _RATES_SHOWN),
        "discr.",
        *_LEARNED,
    ):
        table.add_column(name, justify="right")
    for audit in audits:
        for difficulty in sorted({report.difficulty for report in audit.reports}):
            bad = [violation for violation in audit.violations if violation[1] == difficulty]
            values = [value for (level, _), value in audit.discrimination.items() if level == difficulty]
            table.add_row(
                audit.name if difficulty == audit.reports[0].difficulty else "",
                str(difficulty),
                str(len(audit.of(difficulty))),
                Text(str(len(bad)), style="red" if bad else ""),
                f"{audit.average_shares('keywords', difficulty):.0%}",
                f"{audit.average_shares('memoriser', difficulty):.0%}",
                f"{audit.shared.get(difficulty, 0):.1%}",
                *(f"{audit.means.get((difficulty, rate), 0):.0%}" for rate in _RATES_SHOWN),
                f"{min(values):.2f}" if values else "",
                *(f"{share:.0%}" for share in audit.find_naming(difficulty) or ()),
                *([] if audit.find_naming(difficulty) else ["", ""]),
                *_learned(audit, difficulty),
            )
    return table


def coverage_in_words(audits: Sequence[FamilyAudit]) -> list[str]:
    """Sentences on voices, notations and cheats: the least number of plays of any of them with any family."""
    sentences = []
    for kind in dict.fromkeys(kind for audit in audits for kind in audit.least_covered):
        pairs = sum(name.startswith(f"{kind} ") for audit in audits for name in audit.covered)
        least = min(
            (audit for audit in audits if kind in audit.least_covered), key=lambda each: each.least_covered[kind][1]
        )
        name, plays = least.least_covered[kind]
        sentences.append(f"{pairs} pairs of family and {kind}; least played: {least.name}, {name}: {plays}")
    return sentences


def _learned(audit: FamilyAudit, difficulty: int) -> tuple[str, str]:
    study = audit.studies.get(difficulty)
    return (f"{100 * study.gain:+.0f}", str(len(study.known))) if study else ("", "")


def collect_figures(audits: Sequence[FamilyAudit]) -> list[dict[str, Any]]:
    """The figures for the families' pages. With each mean comes half the width of its 95 % interval."""
    return [
        {
            "family": audit.name,
            "difficulty": difficulty,
            "instances": len(reports := [report for report in audit.of(difficulty) if report.bots]),
            "first_day": {"seed": reports[0].seed, "digest": reports[0].digest},
            "violations": sum(violation[1] == difficulty for violation in audit.violations),
            "bots": {name: compute_mean([report.bots[name] for report in reports]) for name in reports[0].bots},
            "graded": {
                f"{rate:g}": compute_mean([play["total"] for report in reports for play in report.graded[rate]])
                for rate in reports[0].graded
            },
            "shared_8_grams": round(audit.shared.get(difficulty, 0.0), 4),
            "least_covered": audit.least_covered,
            "discrimination": {
                key: round(value, 3) for (level, key), value in audit.discrimination.items() if level == difficulty
            },
            **(
                {"naming": dict(zip(("without", "only"), naming, strict=True))}
                if (naming := audit.find_naming(difficulty))
                else {}
            ),
            **(audit.studies[difficulty].figures() if difficulty in audit.studies else {}),
        }
        for audit in audits
        for difficulty in sorted({report.difficulty for report in audit.reports if report.bots})
    ]


def compute_mean(shares: Sequence[float]) -> tuple[float, float]:
    """The mean of shares in percent, and half the width of its 95 % interval."""
    error = 1.96 * stdev(shares) / len(shares) ** 0.5 if len(shares) > 1 else 0.0
    return round(100 * fmean(shares), 1), round(100 * error, 1)
