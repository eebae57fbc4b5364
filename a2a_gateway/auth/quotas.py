"""Quotas of callers, counted in Temporal and the archive for every assessment that begins.

Temporal's list shows new workflows some moments late, and other gateways may start things for the same caller at the
same time. So each start first puts a ticket into the caller's ledger. The ledger is a workflow that no worker runs, and
tickets are signals to it. Temporal orders the signals. Its histories, unlike its list, are never stale.

A gateway then adds the tickets before its own to its last counts. If the start fits, it begins at once. Otherwise the
gateway counts exactly, and looks again while the answer depends on tickets whose tasks are not listed yet. A refused
start withdraws its ticket; a ticket of a gateway that died expires.

A campaign takes its whole share when it begins. The share is in its memo: the part that has not begun yet is counted
as long as the campaign runs.
"""

import asyncio
import time
import uuid
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from a2a.utils.errors import InvalidRequestError
from temporalio.api.common.v1 import Payload
from temporalio.client import Client, WorkflowExecutionStatus
from temporalio.service import RPCError, RPCStatusCode

from proctor.a2a_gateway.temporal import RPC_TIMEOUT
from proctor.protocol.callers import Caller, Quotas
from proctor.protocol.runs import RunRequest, is_run_request, parse_run_request
from proctor.settings.config import GreenAgentConfig
from proctor.storage.archive import open_archive
from proctor.storage.entry_table import EntryQuery
from proctor.workflows.names import (
    ASSESSMENT_WORKFLOW,
    CAMPAIGN_WORKFLOW,
    PROCTOR_OWNER,
    PROCTOR_STATUS,
    TRIAL_WORKFLOW,
    Status,
)
from purple_sdk.protocol.request import BadRequestError
from purple_sdk.protocol.terminal import TerminalRequest, is_terminal_request, parse_terminal_request

_DAY = timedelta(days=1)
_EXPIRES = timedelta(seconds=30)
"""How long a ticket counts while its task is not in Temporal's list. A ledger's run ends after twice this time to keep
its history short; the next ticket begins another run.
"""

_COUNTED_EVERY = 2.0
"""Seconds for which a gateway reuses its counts. Tasks that began since are counted by their tickets."""

_DECIDED_WITHIN = 10.0
"""Seconds from a start's ticket to its decision, at most; the ticket expires much later."""

_PAUSE = 0.2
_EXACT_AT_ONCE = 4
"""The most starts for which a gateway counts exactly at the same time. A burst of starts beyond a quota must not keep
Temporal busy.
"""

_LEDGER_WORKFLOW = "QuotaLedger"
_ASK, _WITHDRAW = "ask", "withdraw"

_COUNTED = f"WorkflowType IN ('{ASSESSMENT_WORKFLOW}', '{TRIAL_WORKFLOW}')"
"""The query for all that counts: assessments and trials, including those of campaigns. A campaign itself plays nothing.
"""

_RUNNING = "ExecutionStatus = 'Running'"
_PATTERN = frozenset("*?[")
MEMO_SHARE = "quota-share"
"""The memo key of a campaign's share: how many it plays at the same time, and in all."""


@dataclass(frozen=True)
class Share:
    """The number of assessments and trials that a request plays: at the same time, and in all. None if it isn't known
    yet.
    """

    at_once: int = 1
    in_all: int | None = 1


@dataclass(frozen=True)
class Ticket:
    """The announcement of a start: the ticket's id, the task's id, the share, and whether an existing task is played
    again.
    """

    id: str
    task_id: str
    share: Share
    is_again: bool = False


@dataclass(frozen=True)
class _Counts:
    """A caller's use of its quotas, by Temporal's list. A quota that the caller doesn't have has a use of 0."""

    running: int
    begun: int


class _UndecidedError(Exception):
    """The answer depends on tickets whose tasks are not listed yet."""


class Allowance:
    """The quotas of callers, and their use."""

    def __init__(self, config: GreenAgentConfig) -> None:
        self._archive = open_archive(config)
        self._few = asyncio.Semaphore(_EXACT_AT_ONCE)
        self._counting: dict[Caller, tuple[float, asyncio.Future[_Counts]]] = {}

    @asynccontextmanager
    async def reserve_room(
        self, client: Client, caller: Caller, share: Share, task_id: str, *, is_again: bool = False
    ) -> AsyncIterator[None]:
        """Reserve room in a caller's quotas while the caller starts something. Every gateway counts the start before it
        happens.

        Args:
            share: the size of the start.
            is_again: whether an existing task is played again, as a replay does.

        Raises:
            InvalidRequestError: the caller's quotas have no room for it.
            temporalio.service.RPCError: Temporal doesn't answer.
            StoreUnavailableError: the archive, which knows costs, doesn't answer.
        """
        quotas = caller.quotas
        if not caller.name or (quotas.at_once, quotas.per_day, quotas.cost_per_day) == (None, None, None):
            yield
            return
        ticket = Ticket(uuid.uuid4().hex, task_id, share, is_again)
        give_up_at = time.monotonic() + _DECIDED_WITHIN
        ledger = _Ledger(client, caller.name)
        await ledger.enter(ticket)
        try:
            await self._decide(client, caller, ticket, ledger, give_up_at)
            yield
        except RPCError:  # the start may have succeeded all the same
            raise
        except Exception:
            await ledger.withdraw(ticket)
            raise

    async def _decide(
        self, client: Client, caller: Caller, ticket: Ticket, ledger: "_Ledger", give_up_at: float
    ) -> None:
        """Return if there is room, or if the task exists: a message that was sent again starts nothing.

        Raises the errors of ``reserve_room``.
        """
        quotas, share = caller.quotas, ticket.share
        spent = 0.0 if quotas.cost_per_day is None else await asyncio.to_thread(self._spent, caller)
        pending = await ledger.before(ticket)  # also counts tickets of listed tasks: few callers are near their quotas
        with suppress(_UndecidedError, InvalidRequestError):
            _require_room(quotas, await self._counts(client, caller, _COUNTED_EVERY), spent, pending, share)
            if time.monotonic() < give_up_at:
                return
        async with self._few:
            while True:
                pending = await _not_listed(client, await ledger.before(ticket))
                try:
                    _require_room(quotas, await self._counts(client, caller), spent, pending, share)
                    is_decided = True
                except _UndecidedError:
                    is_decided = False
                except InvalidRequestError:
                    if not ticket.is_again and await _is_there(client, ticket.task_id):
                        return
                    raise
                if time.monotonic() > give_up_at:
                    raise InvalidRequestError(
                        "Couldn't check your quota because other requests of yours are starting. Try again later."
                    )
                if is_decided or (not ticket.is_again and await _is_there(client, ticket.task_id)):
                    return
                await asyncio.sleep(_PAUSE)

    async def _counts(self, client: Client, caller: Caller, at_most: float = 0.0) -> _Counts:
        """Return the counts of a caller's tasks, at most ``at_most`` seconds old. Simultaneous calls share one
        count.
        """
        now = time.monotonic()
        began, counting = self._counting.get(caller, (now, None))
        is_failed = counting is not None and counting.done() and (counting.cancelled() or counting.exception())
        if counting is None or is_failed or now - began >= at_most:
            counting = asyncio.ensure_future(_count_tasks(client, caller))
            self._counting[caller] = now, counting
        return await asyncio.shield(counting)

    def _spent(self, caller: Caller) -> float:
        own = self._archive.select(EntryQuery(owner=caller.name, ended_since=datetime.now(UTC) - _DAY))
        return sum(entry.cost or 0.0 for entry in own if entry.kind != "campaign")


class _Ledger:
    """A caller's tickets, in Temporal's order."""

    def __init__(self, client: Client, owner: str) -> None:
        self._client = client
        self._id = f"quota.{owner}"

    async def enter(self, ticket: Ticket) -> None:
        self._run = await self._add(_ASK, ticket)

    async def withdraw(self, ticket: Ticket) -> None:
        with suppress(RPCError):  # it expires
            await self._add(_WITHDRAW, ticket)

    async def before(self, own: Ticket) -> list[Ticket]:
        """Return the other tickets that count against ``own``, which was entered here."""
        began, signals = await self._read_run(self._run)
        place = next(number for number, (_, ticket, _) in enumerate(signals) if ticket.id == own.id)
        since = signals[place][2] - _EXPIRES
        earlier = signals[:place]
        if began > since:  # tickets of the previous run also count
            query = f"WorkflowId = '{self._id}' AND StartTime >= '{(since - 3 * _EXPIRES).isoformat()}'"
            async for run in self._client.list_workflows(query, rpc_timeout=RPC_TIMEOUT):
                if run.run_id != self._run and run.start_time < began:
                    earlier += (await self._read_run(run.run_id))[1]
        withdrawn = {ticket.id for name, ticket, _ in (*earlier, *signals) if name == _WITHDRAW}
        return [ticket for name, ticket, at in earlier if name == _ASK and ticket.id not in withdrawn and at > since]

    async def _add(self, name: str, ticket: Ticket) -> str:
        """Send a signal; return the id of the run that got it."""
        handle = await self._client.start_workflow(
            _LEDGER_WORKFLOW,
            id=self._id,
            task_queue="no-worker-polls-ledgers",
            execution_timeout=2 * _EXPIRES,
            start_signal=name,
            start_signal_args=[ticket],
            rpc_timeout=RPC_TIMEOUT,
        )
        return handle.result_run_id or ""

    async def _read_run(self, run_id: str) -> tuple[datetime, list[tuple[str, Ticket, datetime]]]:
        """Return when a run began, and its signals. Each signal has its name, its ticket, and the time at which
        Temporal took it.
        """
        names, payloads, times = list[str](), list[Payload](), list[datetime]()
        ledger = self._client.get_workflow_handle(self._id, run_id=run_id)
        async for event in ledger.fetch_history_events(rpc_timeout=RPC_TIMEOUT):
            if event.event_id == 1:
                began = event.event_time.ToDatetime(UTC)
            elif event.HasField("workflow_execution_signaled_event_attributes"):
                signal = event.workflow_execution_signaled_event_attributes
                names.append(signal.signal_name)
                payloads.append(signal.input.payloads[0])
                times.append(event.event_time.ToDatetime(UTC))
        tickets = await self._client.data_converter.decode(payloads, [Ticket] * len(payloads))
        return began, list(zip(names, tickets, times, strict=True))


async def _not_listed(client: Client, tickets: Sequence[Ticket]) -> list[Ticket]:
    """Return the tickets whose tasks are not in Temporal's list; a replayed task must be listed as running."""
    if not tickets:
        return []
    ids = ", ".join({f"'{ticket.task_id}'" for ticket in tickets})
    listed, running = set[str](), set[str]()
    async for task in client.list_workflows(f"WorkflowId IN ({ids})", rpc_timeout=RPC_TIMEOUT):
        (running if task.status == WorkflowExecutionStatus.RUNNING else listed).add(task.id)
    return [ticket for ticket in tickets if ticket.task_id not in (running if ticket.is_again else running | listed)]


async def _count_tasks(client: Client, caller: Caller) -> _Counts:
    quotas = caller.quotas
    whose = f"{PROCTOR_OWNER.name} = '{caller.name}'"
    counted = f"{whose} AND {_COUNTED}"
    running = begun = 0
    kept = await _kept_for_campaigns(client, whose)
    if quotas.at_once is not None:
        running = await _count(client, f"{counted} AND {_RUNNING}") + kept.at_once
    if quotas.per_day is not None:
        today = f"{counted} AND StartTime >= '{(datetime.now(UTC) - _DAY).isoformat()}'"
        rejected = await _count(client, f"{today} AND {PROCTOR_STATUS.name} = '{Status.REJECTED}'")
        begun = await _count(client, today) - rejected + (kept.in_all or 0)
    return _Counts(running, begun)


async def _kept_for_campaigns(client: Client, whose: str) -> Share:
    """Return the part of the shares of running campaigns that has not begun yet."""
    at_once = in_all = 0
    query = f"{whose} AND WorkflowType = '{CAMPAIGN_WORKFLOW}' AND {_RUNNING}"
    async for campaign in client.list_workflows(query, rpc_timeout=RPC_TIMEOUT):
        if (share := await campaign.memo_value(MEMO_SHARE, None)) is None:  # a campaign from before shares existed
            continue
        # Its cells' ids begin with its own id. An assessment is a child of a cell; a trial is itself a cell.
        of_it = f"{whose} AND {_COUNTED} AND ParentWorkflowId STARTS_WITH '{campaign.id}'"
        begun, running = await _count(client, of_it), await _count(client, f"{of_it} AND {_RUNNING}")
        most = share["in_all"] if share["in_all"] is not None else begun + share["at_once"]
        in_all += max(0, most - begun)
        at_once += max(0, min(share["at_once"] - running, most - begun))
    return Share(at_once, in_all)


async def _is_there(client: Client, task_id: str) -> bool:
    try:
        await client.get_workflow_handle(task_id).describe(rpc_timeout=RPC_TIMEOUT)
    except RPCError as error:
        if error.status == RPCStatusCode.NOT_FOUND:
            return False
        raise
    return True


async def _count(client: Client, query: str) -> int:
    return (await client.count_workflows(query, rpc_timeout=RPC_TIMEOUT)).count


def _require_room(quotas: Quotas, counts: _Counts, spent: float, pending: Sequence[Ticket], share: Share) -> None:
    if quotas.at_once is not None:
        coming = sum(ticket.share.at_once for ticket in pending)
        _require(counts.running, coming, share.at_once, quotas.at_once, "at the same time")
    if quotas.per_day is not None:
        if share.in_all is None:
            raise InvalidRequestError(
                f"Your quota is {quotas.per_day} assessments in 24 hours, and how many this would be only playing "
                "it tells: say so yourself, by config.from_turns or config.max_turns for forks, by "
                "config.task_ids without patterns or config.n_tasks for terminal tasks."
            )
        coming = sum(ticket.share.in_all or ticket.share.at_once for ticket in pending)
        _require(counts.begun, coming, share.in_all, quotas.per_day, "in 24 hours")
    if quotas.cost_per_day is not None and spent >= quotas.cost_per_day:
        raise InvalidRequestError(
            f"Your quota is a cost of {quotas.cost_per_day:g} in 24 hours, and {spent:.4g} are spent: ask again later."
        )


def _require(there: int, coming: int, wanted: int, quota: int, when: str) -> None:
    if there + wanted > quota:
        less = ", or ask for fewer" if wanted > 1 else ""
        raise InvalidRequestError(
            f"Your quota is {quota} assessments {when}; there are {there}, and this would be {wanted} more: ask again "
            f"later{less}."
        )
    if there + coming + wanted > quota:
        raise _UndecidedError


def compute_share(request: dict[str, Any] | str | None) -> Share:
    """Return how much a request plays. An invalid request plays nothing, but counts as one assessment until the worker
    refuses it.
    """
    try:
        if is_terminal_request(request):
            if isinstance(request, str) and "{" not in request:  # the seed's words: the worker's settings decide
                return Share(in_all=None)
            return _share_of_trials(parse_terminal_request(request))
        if is_run_request(request):
            return _share_of_run(parse_run_request(request))
    except BadRequestError:
        pass
    return Share()


def _share_of_run(asked: RunRequest) -> Share:
    config = asked.config
    turns = len(config.from_turns) if isinstance(config.from_turns, list) else 1
    if config.from_turns == "every":  # at most one fork for each possible turn
        if config.max_turns is None:
            return Share(config.at_once, None)
        turns = config.max_turns
    # If participants or scenarios are missing, the original's participant and scenario are played.
    each = max(len(asked.participants), 1) * max(len(config.scenarios), 1) * turns
    cells = -(-each * len(config.seeds) * config.repeats // config.num_shards)
    return Share(min(config.at_once, cells), cells)


def _share_of_trials(asked: TerminalRequest) -> Share:
    config = asked.config
    tasks = config.n_tasks
    if config.task_ids is not None and all(_PATTERN.isdisjoint(name) for name in config.task_ids):
        tasks = min(len(config.task_ids), tasks or len(config.task_ids))
    if tasks is None:
        return Share(config.n_concurrent_trials, None)
    trials = tasks * config.n_attempts * len(asked.agents)
    return Share(min(config.n_concurrent_trials, trials), trials)
