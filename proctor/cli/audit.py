"""``proctor scenarios audit``: progress, the table, and each violation's command."""

import json
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from proctor.cli.scenario_commands import family_folder, manager_of
from proctor.client.run_settings import seeds_in
from proctor.common.console import make_console, show
from proctor.common.errors import ExitCode, UsageError
from proctor.local.audit.families import Cell, FamilyAudit, cells_of, command_for, run_cells, run_studies, summed_up
from proctor.local.audit.instances import Report
from purple_sdk.protocol.instances import DIFFICULTIES

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
"""Columns: what the duties that name the family leave and bring, the largest gain of the shortcut learner in points
without what is known, and how much is known."""
_INSTANCES_A_LINE = 25  # in a log, progress is one line for this number of instances


def audit_families(
    families: Sequence[str],
    scenarios_dir: str | None,
    difficulties: str,
    seeds: str,
    *,
    processes: int = 0,
    quick: bool = False,
    json_file: Path | None = None,
) -> ExitCode:
    """Audit families, all of them where none is named; exit code 1 where anything is violated.

    Args:
        families: their names.
        scenarios_dir: the folder of scenarios that the command line names, if it does.
        difficulties, seeds: numbers and ranges, such as ``1-4`` or ``3,7``.
        processes: how many instances at once; 0 for as many as there are processors.
        quick: the cheapest form: fewer lapses, and no checks that need many instances.
        json_file: receives the figures.

    Raises:
        UsageError: there is no such family, or seeds or difficulties can't be read.
    """
    levels = seeds_in(difficulties)
    if wrong := [level for level in levels if level not in DIFFICULTIES]:
        raise UsageError(f"--difficulty {difficulties}: {wrong[0]} isn't one of 1 to 4")
    manager = manager_of(scenarios_dir)
    directories = [family_folder(manager, name) for name in families or manager.list_families()]
    if not directories:
        raise UsageError(f"there are no families in {manager.directory}")
    cells = cells_of(directories, levels, seeds_in(seeds), quick=quick)
    began, console = time.monotonic(), make_console()
    processes = processes or os.cpu_count() or 1
    reports = _watched(cells, processes, console)
    with console.status("looking for shortcuts in 250 days of each family and difficulty"):
        studies = [] if quick else list(run_studies(cells, processes))
    audits = summed_up(reports, studies, quick=quick)
    show(console, _table(audits))
    for sentence in [] if quick else coverage_in_words(audits):
        show(console, Text(sentence))
    violations = [(audit.name, *violation) for audit in audits for violation in audit.violations]
    for name, check, difficulty, seed, sentence in violations:
        where = f"{name}, difficulty {difficulty}" + (f", seed {seed}" if seed is not None else "")
        console.print(Text(f"check {check} ({CHECKS[check]}), {where}: {sentence}", style="red"))
        console.print(Text(f"  {command_for(name, difficulty, seed, scenarios_dir)}"))
    plays = sum(report.plays for report in reports)
    console.print(
        f"{len(reports)} instances, {plays:,} plays, {len(violations)} violations, {time.monotonic() - began:.0f} s",
        highlight=False,
    )
    if json_file is not None:
        json_file.write_text(json.dumps(_figures(audits), indent=1) + "\n", encoding="utf-8")
    return ExitCode.FAILED if violations else ExitCode.DONE


def _watched(cells: Sequence[Cell], processes: int, console: Console) -> list[Report]:
    """Audit instances, and show how far that is."""
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
    """The progress bar's place in a log, on stderr: a line for some instances, and one for each with violations."""
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


def _table(audits: Sequence[FamilyAudit]) -> Table:
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
                f"{audit.mean_of('keywords', difficulty):.0%}",
                f"{audit.mean_of('memoriser', difficulty):.0%}",
                f"{audit.shared.get(difficulty, 0):.1%}",
                *(f"{audit.means.get((difficulty, rate), 0):.0%}" for rate in _RATES_SHOWN),
                f"{min(values):.2f}" if values else "",
                *(f"{share:.0%}" for share in audit.naming_of(difficulty) or ()),
                *([] if audit.naming_of(difficulty) else ["", ""]),
                *_learned(audit, difficulty),
            )
    return table


def coverage_in_words(audits: Sequence[FamilyAudit]) -> list[str]:
    """A sentence each on voices, notations and cheats: how often each pair with a family was played at least."""
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


def _figures(audits: Sequence[FamilyAudit]) -> list[dict[str, Any]]:
    """What the families' pages show; each mean with half the width of its 95 % interval (1.96 standard errors)."""
    return [
        {
            "family": audit.name,
            "difficulty": difficulty,
            "instances": len(reports := [report for report in audit.of(difficulty) if report.bots]),
            "first_day": {"seed": reports[0].seed, "digest": reports[0].digest},
            "violations": sum(violation[1] == difficulty for violation in audit.violations),
            "bots": {name: mean_of([report.bots[name] for report in reports]) for name in reports[0].bots},
            "graded": {
                f"{rate:g}": mean_of([play["total"] for report in reports for play in report.graded[rate]])
                for rate in reports[0].graded
            },
            "shared_8_grams": round(audit.shared.get(difficulty, 0.0), 4),
            "least_covered": audit.least_covered,
            "discrimination": {
                key: round(value, 3) for (level, key), value in audit.discrimination.items() if level == difficulty
            },
            **(
                {"naming": dict(zip(("without", "only"), naming, strict=True))}
                if (naming := audit.naming_of(difficulty))
                else {}
            ),
            **(audit.studies[difficulty].figures() if difficulty in audit.studies else {}),
        }
        for audit in audits
        for difficulty in sorted({report.difficulty for report in audit.reports if report.bots})
    ]


def mean_of(shares: Sequence[float]) -> tuple[float, float]:
    """The mean of shares in percent, and half the width of its 95 % interval."""
    error = 1.96 * stdev(shares) / len(shares) ** 0.5 if len(shares) > 1 else 0.0
    return round(100 * fmean(shares), 1), round(100 * error, 1)
