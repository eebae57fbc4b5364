"""Which process of a run plays which tests: what shares services stays together, and what takes long begins early.

Services for tests are started once for a process, a file or a room. A file's tests are therefore played by one process,
as are all tests of a room with services of its own; and of the processes only some start the evaluator that most plays
share (the fixture ``stack``), unless all the rest is done.
"""

import re
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from xdist.scheduler import LoadScopeScheduling
from xdist.workermanage import WorkerController

ROOT = Path(__file__).parents[1]

TOGETHER = (
    "tests/a2a_gateway/",
    "tests/assessments/with_a_model/",
    "tests/chaos/",
    "tests/foreign_ues/",
    "tests/observing/",
    "tests/terminal_bench/",
    "tests/viewer/",
    "tests/workflows/test_run",  # a third of the room each, as the whole room takes longer than all else
    "tests/workflows/test_t",
    "tests/workflows/",
)
"""Rooms with services, or an archive and a browser, of their own; or files of them, by the beginning of their path."""

LONG = (
    "tests/workflows/",
    "tests/a2a_gateway/",
    "tests/viewer/",
    "tests/foreign_ues/",
    "tests/terminal_bench/",
    "tests/cli/test_up.py",
    "tests/assessments/with_a_model/",
    "tests/assessments/test_deployments.py",
    "tests/chaos/",
    "tests/observing/",
    "tests/assessments/",
    "tests/cli/",
    "tests/ui/",
    "tests/sizes/",
    "tests/terminal/",
    "tests/scenarios/",
    "tests/activities/test_scenario_code.py",
    "tests/purple_sdk/",
)
"""What takes long, the longest first. All else is played last, in small pieces, so that the processes end together."""

BEGIN_LONG = 3
"""How many processes begin with what takes long, which waits much. Where there is one more, it begins with all else,
which only computes: then no core has to wait with them.
"""

HOMES = 2
"""How many processes start the evaluator that plays share."""

_WORTH_A_START = 4
"""How many of its files there must be left for one more process to start it."""


_ASKS_FOR_THE_EVALUATOR = re.compile(
    r"^(?:@pytest\w*\.fixture[^\n]*\n(?:async )?def \w+|(?:async )?def test_\w+)\([^)]*\bstack\b", re.MULTILINE
)
"""A test or a fixture with the fixture ``stack``; other functions may be given an evaluator of their room's own."""


def group_of(nodeid: str) -> str:
    """Which tests this one is played together with: those of a place in ``TOGETHER``, or of its file."""
    return next((room for room in TOGETHER if nodeid.startswith(room)), nodeid.partition("::")[0])


def rank_of(group: str) -> int:
    """When a group's turn comes: 0 first."""
    return next((number for number, long in enumerate(LONG) if group.startswith(long)), len(LONG))


@cache
def shares_the_evaluator(group: str) -> bool:
    """Whether some test of a group asks for the fixture ``stack``."""
    files = [ROOT / group] if group.endswith(".py") else sorted(ROOT.glob(f"{group}*.py"))
    return any(_ASKS_FOR_THE_EVALUATOR.search(file.read_text()) for file in files)


class Together(LoadScopeScheduling):
    """xdist's scheduling by scopes, with our groups for scopes."""

    def __init__(self, config: Any, log: Any = None) -> None:
        super().__init__(config, log)
        if gone := [place for place in {*LONG, *TOGETHER} if not list(ROOT.glob(f"{place}*"))]:
            raise pytest.UsageError(
                f"tests/scheduling.py names {', '.join(sorted(gone))}, which no file has: mend LONG and TOGETHER"
            )
        self._homes: list[WorkerController] = []

    def _split_scope(self, nodeid: str) -> str:
        return group_of(nodeid)

    def _assign_work_unit(self, node: WorkerController) -> None:
        waiting = sorted(self.workqueue, key=rank_of)  # stable: by name among equals
        sharing = [group for group in waiting if shares_the_evaluator(group)]
        others = [group for group in waiting if group not in sharing]
        begins_short = len(self.nodes) > BEGIN_LONG and node is self.nodes[-1]
        short = [group for group in others if rank_of(group) == len(LONG)] if begins_short else []
        is_home = node in self._homes or (len(self._homes) < HOMES and not begins_short)
        if not others and not is_home and len(sharing) < _WORTH_A_START:
            node.shutdown()
            return
        chosen = (short or (sharing or others if is_home else others or sharing))[0]
        if chosen in sharing and node not in self._homes:
            self._homes.append(node)
        self.workqueue.move_to_end(chosen, last=False)
        super()._assign_work_unit(node)
