"""The running work, in the form that pages need. ``proctor.service.running`` gets it from Temporal."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from proctor.protocol.archive import CommandRecord
from proctor.protocol.callers import ANYBODY, Caller
from proctor.protocol.campaigns import Tally


@dataclass(frozen=True)
class Running:
    """A running assessment, trial or campaign.

    ``kind`` is as in the archive. ``campaign`` is the id of an assessment's campaign. ``tally`` is a campaign's
    progress, if known. ``owner`` is the caller that it belongs to.
    """

    id: str
    scenario_id: str
    participant_url: str
    status: str
    started_at: datetime
    url: str | None = None
    owner: str = ""
    kind: str = "assessment"
    campaign: str | None = None
    tally: Tally | None = None


@dataclass(frozen=True)
class RunningCell:
    """A running trial or assessment of a campaign.

    ``id`` is the name of its page, None before it has a page; ``step`` is its current step, if known.
    """

    id: str | None
    label: str
    started_at: datetime
    step: str | None = None


@dataclass(frozen=True)
class LiveTerminal:
    """A trial's terminal so far: its inputs, and the end of its screen, as text."""

    records: Sequence[CommandRecord] = ()
    shown: str = ""


@dataclass(frozen=True)
class RunningDetails:
    """Running work with the data of its updates so far; ``wait_reason`` says why it waits, if it does.

    ``cells`` are a campaign's running cells. ``step`` is a trial's current step. ``terminal`` is a trial's terminal,
    None if it is recorded on another machine.
    """

    running: Running
    updates: Sequence[Mapping[str, Any]] = ()
    wait_reason: str | None = None
    cells: Sequence[RunningCell] = ()
    step: str | None = None
    terminal: LiveTerminal | None = None


class Live:
    """A source of running work. This one has none, for archives alone; ``proctor.service.running`` asks Temporal.

    All methods may raise any exception: the running work is then unknown, and only the archive is shown.
    """

    async def running(self, caller: Caller = ANYBODY) -> Sequence[Running]:
        return ()

    async def details(self, name: str) -> RunningDetails | None:
        """Return the updates of running work; None if it doesn't run, or not here."""
        return None

    async def may_continue(self, name: str) -> bool:
        """Tell whether ended work can be reset: Temporal still has its history."""
        return False
