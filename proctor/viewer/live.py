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

    Attributes:
        owner: the caller that the work belongs to.
        kind: ``assessment``, ``trial`` or ``campaign``.
        campaign: the id of the campaign of an assessment or a trial.
        tally: a campaign's progress, if known.
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
    """Running work in detail.

    Attributes:
        updates: the data of the updates so far.
        wait_reason: why the work waits, if it does.
        cells: a campaign's running cells.
        step: a trial's current step.
        terminal: a trial's terminal; None if it is recorded on another machine.
    """

    running: Running
    updates: Sequence[Mapping[str, Any]] = ()
    wait_reason: str | None = None
    cells: Sequence[RunningCell] = ()
    step: str | None = None
    terminal: LiveTerminal | None = None


class Live:
    """A source of running work. This base class has none; ``proctor.service.running.UnderWay`` asks Temporal.

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
