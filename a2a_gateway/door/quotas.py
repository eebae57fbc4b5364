"""How much a caller may have: asked of Temporal and the archive for every assessment that begins.

One thing of a caller's is started at a time, by whichever gateway: whoever counts has the caller's turn, a workflow
that nobody works on, of which Temporal lets only one run. It is given back when what was started is in Temporal's list,
so that the next one counts it; and ends by itself soon, should its gateway die. What this gateway has started is
counted from memory besides, for lists that lag behind for longer.
"""

import asyncio
import random
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime, timedelta
from typing import Any

from a2a.utils.errors import InvalidRequestError
from temporalio.client import Client
from temporalio.common import WorkflowIDConflictPolicy, WorkflowIDReusePolicy
from temporalio.exceptions import WorkflowAlreadyStartedError
from temporalio.service import RPCError, RPCStatusCode

from a2a_gateway.temporal import RPC_TIMEOUT
from proctor_protocol.callers import Caller
from proctor_protocol.config import GreenAgentConfig
from proctor_protocol.request import BadRequestError
from proctor_protocol.runs import is_run_request, parse_run_request
from proctor_storage.archive import Archive
from workflows.names import ASSESSMENT_WORKFLOW, PROCTOR_OWNER, TRIAL_WORKFLOW

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


class Allowance:
    """What callers have of their quotas."""

    def __init__(self, config: GreenAgentConfig) -> None:
        self._archive = Archive(config.archive_url)
        self._locks: dict[str, asyncio.Lock] = {}
        self._lately: dict[str, dict[str, float]] = {}

    @asynccontextmanager
    async def room_for(
        self, client: Client, caller: Caller, request: dict[str, Any] | str | None, task_id: str
    ) -> AsyncIterator[None]:
        """While a caller starts something; nobody else starts anything in its name meanwhile.

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
            if await _is_there(client, task_id):  # the same message comes again, and starts nothing
                yield
                return
            async with _turn_of(client, caller.name):
                await self._check(client, caller, *_wanted(request))
                yield
                self._lately.setdefault(caller.name, {})[task_id] = time.monotonic()
                await _listed(client, task_id)

    async def _check(self, client: Client, caller: Caller, at_once: int, in_all: int) -> None:
        quotas, now = caller.quotas, datetime.now(UTC)
        unseen = await self._not_listed_yet(client, caller.name)
        whose = f"{PROCTOR_OWNER.name} = '{caller.name}' AND {_COUNTED}"
        if quotas.at_once is not None:
            running = await _count(client, f"{whose} AND ExecutionStatus = 'Running'") + unseen
            _require(running, at_once, quotas.at_once, "at the same time")
        if quotas.per_day is not None:
            begun = await _count(client, f"{whose} AND StartTime >= '{(now - _DAY).isoformat()}'") + unseen
            _require(begun, in_all, quotas.per_day, "in 24 hours")
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
        own = [entry for entry in self._archive.entries() if entry.owner == caller.name]
        return sum(entry.cost or 0.0 for entry in own if entry.kind != "campaign" and entry.ended_at >= since)


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


async def _listed(client: Client, task_id: str) -> None:
    """Wait until something that was started is in Temporal's list, or for as long as is reasonable."""
    with suppress(RPCError, TimeoutError):  # it is started: whoever asked for it hears of that
        async with asyncio.timeout(_LISTED_WITHIN):
            while True:
                if await _count(client, f"WorkflowId = '{task_id}'"):
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


def _wanted(request: dict[str, Any] | str | None) -> tuple[int, int]:
    """How many assessments a request plays at the same time, and in all; a bad request plays nothing."""
    if not is_run_request(request):
        return 1, 1
    try:
        asked = parse_run_request(request)
    except BadRequestError:
        return 1, 1
    config = asked.config
    cells = len(asked.participants) * len(config.scenarios) * len(config.seeds) * config.repeats
    cells = -(-cells // config.num_shards)
    return min(config.at_once, cells), cells
