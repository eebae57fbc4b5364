"""The running work, as the pages ask for it. ``proctor.service.running`` gets it from Temporal."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from proctor.protocol.archive import CommandRecord
from proctor.protocol.callers import ANYBODY, Caller
from proctor.protocol.campaigns import Tally


@dataclass(frozen=True)
class Running:
    """An assessment, a trial or a campaign that is under way.

    ``kind`` is as in the archive. ``campaign`` is the id of the campaign that an assessment is of. ``tally`` says how
    far a campaign is, where that is known. ``owner`` is the caller whose it is.
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
    """A trial or an assessment of a campaign that runs now.

    ``id`` is its page's name, None before it has a page; ``step`` is its current step, if known.
    """

    id: str | None
    label: str
    started_at: datetime
    step: str | None = None


@dataclass(frozen=True)
class LiveTerminal:
    """A trial's terminal so far: what was entered, and the end of what it shows, as text."""

    records: Sequence[CommandRecord] = ()
    shown: str = ""


@dataclass(frozen=True)
class RunningDetails:
    """Running work with the data of its updates so far; ``wait_reason`` says why it waits, if it does.

    ``cells`` are those of a campaign that run now. ``step`` is what a trial is at. ``terminal`` is a trial's, None
    where it is recorded on another machine.
    """

    running: Running
    updates: Sequence[Mapping[str, Any]] = ()
    wait_reason: str | None = None
    cells: Sequence[RunningCell] = ()
    step: str | None = None
    terminal: LiveTerminal | None = None


class Live:
    """Says what is under way: nothing, for who looks at an archive alone; ``proctor.service.running`` asks Temporal.

    All methods may raise anything: then it isn't known, and the archive is shown alone.
    """

    async def running(self, caller: Caller = ANYBODY) -> Sequence[Running]:
        return ()

    async def details(self, name: str) -> RunningDetails | None:
        """The updates of running work; None if it doesn't run, or not here."""
        return None

    async def may_continue(self, name: str) -> bool:
        """Whether something that has ended can be reset: Temporal has not forgotten it."""
        return False
