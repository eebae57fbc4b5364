"""The table of recoveries: moments down, processes across, seconds until the next news."""

from collections.abc import Iterable, Mapping
from statistics import median
from typing import Any

from tests.chaos.rehearsals import DURING_A_TURN, Recovery

RECOVERY = "chaos recovery"
"""The property under which a test records phase, process, seconds, tries and problem of a kill."""


def recorded(reports: Iterable[Any]) -> dict[tuple[str, str], Recovery]:
    """The recoveries that pytest's reports of passed and failed tests carry."""
    properties = (kept for report in reports for kept in getattr(report, "user_properties", ()))
    return {(kept[0], kept[1]): Recovery(*kept[2:]) for name, kept in properties if name == RECOVERY}


def table(recoveries: Mapping[tuple[str, str], Recovery]) -> str:
    """The table as text; ``2.1 +1`` for a turn that had to be played once more, ``FAILED`` for a wrong result."""
    processes = list(dict.fromkeys(process for _, process in recoveries))
    phases = list(dict.fromkeys(phase for phase, _ in recoveries))
    rows = [[phase, *(_cell(recoveries.get((phase, process))) for process in processes)] for phase in phases]
    rows.insert(0, ["recovered in s", *processes])
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    outside = [
        recovery.seconds
        for (phase, process), recovery in recoveries.items()
        if process == "worker" and phase not in DURING_A_TURN and not recovery.problem
    ]
    if outside:
        lines.append(f"worker, outside a participant's turn: p50 {median(outside):.1f} s, max {max(outside):.1f} s")
    return "\n".join(lines)


def _cell(recovery: Recovery | None) -> str:
    if recovery is None:
        return ""
    if recovery.problem:
        return "FAILED"
    again = sum(tries - 1 for tries in recovery.turn_tries.values())
    return f"{recovery.seconds:.1f}" + (f" +{again}" if again else "")
