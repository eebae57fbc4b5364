"""How much a caller may have: asked of Temporal and the archive for every assessment that begins.

One thing of a caller's is started at a time, by whichever gateway: whoever counts has the caller's turn, a workflow
that nobody works on, of which Temporal lets only one run. It is given back when what was started is in Temporal's list,
so that the next one counts it; and ends by itself soon, should its gateway die. What this gateway has started is
counted from memory besides, for lists that lag behind for longer. A campaign takes its whole share when it begins: how
much that is stands in its memo, so that what it has not begun yet is counted for as long as it runs.
"""

import asyncio
import random
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from a2a.utils.errors import InvalidRequestError
from temporalio.client import Client
from temporalio.common import WorkflowIDConflictPolicy, WorkflowIDReusePolicy
from temporalio.exceptions import WorkflowAlreadyStartedError
from temporalio.service import RPCError, RPCStatusCode

from a2a_gateway.temporal import RPC_TIMEOUT
from proctor_protocol.callers import Caller
from proctor_protocol.request import BadRequestError
from proctor_protocol.runs import RunRequest, is_run_request, parse_run_request
from proctor_protocol.terminal import TerminalRequest, is_terminal_request, parse_terminal_request
from proctor_settings.config import GreenAgentConfig
from proctor_storage.archive import open_archive
from proctor_storage.entry_table import EntryQuery
from workflows.names import (
    ASSESSMENT_WORKFLOW,
    CAMPAIGN_WORKFLOW,
    PROCTOR_OWNER,
    PROCTOR_STATUS,
    TRIAL_WORKFLOW,
    Status,
)

_DAY = timedelta(days=1)
_LAG = 15.0
"""Seconds within which what was started is in Temporal's list."""

_TURN_WORKFLOW = "QuotaTurn"
_TURN_LASTS = timedelta(seconds=10)
"""After so long the turn of a gateway that has died is over."""

_TURN_WAITED_FOR = 25.0
_LISTED_WITHIN = 5.0
"""Seconds for which a turn is kept until what was started is listed."""

_COUNTED = f"WorkflowType IN ('{ASSESSMENT_WORKFLOW}', '{TRIAL_WORKFLOW}')"
"""Assessments and trials, those of campaigns too; a campaign itself plays nothing."""

_RUNNING = "ExecutionStatus = 'Running'"
_PATTERN = frozenset("*?[")
MEMO_SHARE = "quota-share"
"""Where a campaign's memo says how many it plays at the same time, and in all."""


@dataclass(frozen=True)
class Share:
    """How many assessments and trials a request plays at the same time, and in all; None where only playing tells."""

    at_once: int = 1
    in_all: int | None = 1


class Allowance:
    """What callers have of their quotas."""

    def __init__(self, config: GreenAgentConfig) -> None:
        self._archive = open_archive(config)
        self._locks: dict[str, asyncio.Lock] = {}
        self._lately: dict[str, dict[str, float]] = {}

    @asynccontextmanager
    async def room_for(
        self, client: Client, caller: Caller, share: Share, task_id: str, *, is_again: bool = False
    ) -> AsyncIterator[None]:
        """While a caller starts something; nobody else starts anything in its name meanwhile.

        Args:
            client: the connection to Temporal.
            caller: who has it started.
            share: how much it is.
            task_id: its task.
            is_again: whether a task that there is already is played anew, as with a replay.

        Raises:
            InvalidRequestError: the caller's quotas have no room for it.
            temporalio.service.RPCError: Temporal doesn't answer.
            StoreUnavailableError: the archive doesn't, which knows what things have cost.
        """
        quotas = caller.quotas
        if not caller.name or (quotas.at_once, quotas.per_day, quotas.cost_per_day) == (None, None, None):
            yield
            return
        async with self._locks.setdefault(caller.name, asyncio.Lock()):
            if not is_again and await _is_there(client, task_id):  # the same message comes again, and starts nothing
                yield
                return
            async with _turn_of(client, caller.name):
                await self._check(client, caller, share)
                yield
                if not is_again:
                    self._lately.setdefault(caller.name, {})[task_id] = time.monotonic()
                await _listed(client, f"WorkflowId = '{task_id}'" + (f" AND {_RUNNING}" if is_again else ""))

    async def _check(self, client: Client, caller: Caller, share: Share) -> None:
        quotas, now = caller.quotas, datetime.now(UTC)
        unseen = await self._not_listed_yet(client, caller.name)
        whose = f"{PROCTOR_OWNER.name} = '{caller.name}'"
        counted = f"{whose} AND {_COUNTED}"
        kept = await _kept_for_campaigns(client, whose)
        if quotas.at_once is not None:
            running = await _count(client, f"{counted} AND {_RUNNING}") + unseen + kept.at_once
            _require(running, share.at_once, quotas.at_once, "at the same time")
        if quotas.per_day is not None:
            today = f"{counted} AND StartTime >= '{(now - _DAY).isoformat()}'"
            rejected = await _count(client, f"{today} AND {PROCTOR_STATUS.name} = '{Status.REJECTED}'")
            begun = await _count(client, today) - rejected + unseen + (kept.in_all or 0)
            if share.in_all is None:
                raise InvalidRequestError(
                    f"Your quota is {quotas.per_day} assessments in 24 hours, and how many this would be only playing "
                    "it tells: say so yourself, by config.from_turns or config.max_turns for forks, by "
                    "config.task_ids without patterns or config.n_tasks for terminal tasks."
                )
            _require(begun, share.in_all, quotas.per_day, "in 24 hours")
        if quotas.cost_per_day is not None:
            spent = await asyncio.to_thread(self._spent, caller, now - _DAY)
            if spent >= quotas.cost_per_day:
                raise InvalidRequestError(
                    f"Your quota is a cost of {quotas.cost_per_day:g} in 24 hours, and {spent:.4g} are spent: ask "
                    "again later."
                )

    async def _not_listed_yet(self, client: Client, owner: str) -> int:
        """How many of those that were just started here are not in Temporal's list."""
        since = time.monotonic() - _LAG
        lately = self._lately[owner] = {i: at for i, at in self._lately.get(owner, {}).items() if at > since}
        if not lately:
            return 0
        ids = ", ".join(f"'{task_id}'" for task_id in lately)
        return max(0, len(lately) - await _count(client, f"WorkflowId IN ({ids})"))

    def _spent(self, caller: Caller, since: datetime) -> float:
        own = self._archive.select(EntryQuery(owner=caller.name, ended_since=since))
        return sum(entry.cost or 0.0 for entry in own if entry.kind != "campaign")


@asynccontextmanager
async def _turn_of(client: Client, owner: str) -> AsyncIterator[None]:
    """Among all gateways, be the one that starts something in a caller's name.

    Raises:
        InvalidRequestError: the others have so much to start that it didn't come to that.
        temporalio.service.RPCError: Temporal doesn't answer.
    """
    give_up_at = time.monotonic() + _TURN_WAITED_FOR
    while True:
        try:
            turn = await client.start_workflow(
                _TURN_WORKFLOW,
                id=f"quota.{owner}",
                task_queue="nobody-works-on-turns",
                execution_timeout=_TURN_LASTS,
                id_reuse_policy=WorkflowIDReusePolicy.ALLOW_DUPLICATE,
                id_conflict_policy=WorkflowIDConflictPolicy.FAIL,
                rpc_timeout=RPC_TIMEOUT,
            )
            break
        except WorkflowAlreadyStartedError:
            if time.monotonic() > give_up_at:
                raise InvalidRequestError(
                    "So much is being started in your name just now that it can't be seen whether your quota has room "
                    "for this: ask again later."
                ) from None
            await asyncio.sleep(random.uniform(0.02, 0.08))
    try:
        yield
    finally:
        with suppress(RPCError):  # it ends by itself
            await turn.terminate(rpc_timeout=RPC_TIMEOUT)


async def _kept_for_campaigns(client: Client, whose: str) -> Share:
    """What campaigns under way have not begun yet of their shares."""
    at_once = in_all = 0
    query = f"{whose} AND WorkflowType = '{CAMPAIGN_WORKFLOW}' AND {_RUNNING}"
    async for campaign in client.list_workflows(query, rpc_timeout=RPC_TIMEOUT):
        if (share := await campaign.memo_value(MEMO_SHARE, None)) is None:  # from before there were shares
            continue
        # Its cells' ids begin with its own; an assessment is the child of a cell, a trial is one itself.
        of_it = f"{whose} AND {_COUNTED} AND ParentWorkflowId STARTS_WITH '{campaign.id}'"
        begun, running = await _count(client, of_it), await _count(client, f"{of_it} AND {_RUNNING}")
        most = share["in_all"] if share["in_all"] is not None else begun + share["at_once"]
        in_all += max(0, most - begun)
        at_once += max(0, min(share["at_once"] - running, most - begun))
    return Share(at_once, in_all)


async def _listed(client: Client, query: str) -> None:
    """Wait until something that was started is in Temporal's list, or for as long as is reasonable."""
    with suppress(RPCError, TimeoutError):  # it is started: whoever asked for it hears of that
        async with asyncio.timeout(_LISTED_WITHIN):
            while True:
                if await _count(client, query):
                    return
                await asyncio.sleep(0.02)


async def _is_there(client: Client, task_id: str) -> bool:
    try:
        await client.get_workflow_handle(task_id).describe(rpc_timeout=RPC_TIMEOUT)
    except RPCError as problem:
        if problem.status == RPCStatusCode.NOT_FOUND:
            return False
        raise
    return True


async def _count(client: Client, query: str) -> int:
    return (await client.count_workflows(query, rpc_timeout=RPC_TIMEOUT)).count


def _require(there: int, wanted: int, quota: int, when: str) -> None:
    if there + wanted > quota:
        less = ", or ask for fewer" if wanted > 1 else ""
        raise InvalidRequestError(
            f"Your quota is {quota} assessments {when}; there are {there}, and this would be {wanted} more: ask again "
            f"later{less}."
        )


def share_of(request: dict[str, Any] | str | None) -> Share:
    """How much a request plays; a bad one plays nothing, and counts as one until that is known."""
    try:
        if is_terminal_request(request):
            if isinstance(request, str) and "{" not in request:  # the seed's words: the worker's settings say how much
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
    if config.from_turns == "every":  # at most one fork for each turn that there may be
        if config.max_turns is None:
            return Share(config.at_once, None)
        turns = config.max_turns
    # Where nobody and nothing is named, it is the original's participant and scenario that are played.
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
