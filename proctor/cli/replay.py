"""``proctor replay``: reset an assessment to a turn, its judging or its failed step, and follow it."""

import asyncio
import sys

import httpx
from temporalio.client import Client, WorkflowExecutionStatus

from proctor.a2a_gateway.temporal import TEMPORAL_PATH
from proctor.cli.assess_commands import AssessOptions, follow
from proctor.client.caller import AssessmentCall, authorization
from proctor.client.replay import ResetPoint, choose, reset, reset_points
from proctor.common.console import make_console
from proctor.common.errors import UnreachableError, UsageError
from proctor.common.interrupts import interruption
from proctor.common.settings import read_settings, with_connection
from proctor.settings.config import GreenAgentConfig
from proctor.storage.temporal import TemporalUnreachableError, connect
from purple_sdk.processes.http_clients import make_http_client
from purple_sdk.settings.config import merge_configs

_GATEWAY_SECONDS = 10.0


def run_replay(
    task_id: str,
    gateway_url: str,
    temporal_address: str | None = None,
    from_turn: int | None = None,
    *,
    from_judging: bool = False,
    with_current_evaluators: bool = False,
    is_agreed: bool = False,
    quiet: bool = False,
) -> None:
    """Reset and follow; Ctrl-C cancels the assessment.

    Args:
        from_turn, from_judging: where it continues; by default at what failed.
        with_current_evaluators: judge by the scenario's evaluators of today, not those of its admission.
    """
    if from_turn is not None and from_judging:
        raise UsageError("--from-turn and --from-judging exclude each other: choose one")
    if with_current_evaluators and not from_judging:
        raise UsageError("--with-current-evaluators is for judging again: add --from-judging")

    async def find() -> tuple[ResetPoint, bool]:
        client = await _connect(gateway_url, temporal_address)
        point = choose(await reset_points(client, task_id), from_turn, from_judging)
        described = await client.get_workflow_handle(task_id).describe()
        return point, described.status == WorkflowExecutionStatus.COMPLETED

    async def replay() -> None:
        interrupted, client = interruption(), await _connect(gateway_url, temporal_address)
        await reset(client, task_id, point, with_current_evaluators=with_current_evaluators)
        console = make_console(sys.stdout)
        console.print(f"{task_id} continues from {point.name}", highlight=False)
        call = AssessmentCall.of_task(gateway_url, task_id)
        await follow(AssessOptions(gateway_url, quiet=quiet), interrupted, call, console)

    point, is_completed = asyncio.run(find())
    if is_completed and not is_agreed:  # asked outside of event loops, which keep the first Ctrl-C for their tasks
        _require_agreement(task_id, point)
    asyncio.run(replay())


def _require_agreement(task_id: str, point: ResetPoint) -> None:
    if not sys.stdin.isatty():
        raise UsageError(f"{task_id} is completed: --yes resets it, and a new result takes the place of its own")
    print(f"{task_id} is completed. Have a new result, from {point.name} on, take the place of its own? [y/N] ", end="")
    sys.stdout.flush()
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise UsageError("nothing was reset")


async def _connect(gateway_url: str, temporal_address: str | None) -> Client:
    """The Temporal that is named, by flag or environment, else that of the gateway."""
    config = with_connection(read_settings(GreenAgentConfig, temporal_address=temporal_address), temporal_address)
    is_named = "temporal_address" in config.model_fields_set
    if not is_named:
        config = merge_configs(config, await _temporal_of(gateway_url))
    try:
        return await connect(config)
    except TemporalUnreachableError as problem:
        remedy = "" if is_named else "; where you reach it at another address, name that with --temporal-address"
        raise UnreachableError(f"{problem}{remedy}") from None


async def _temporal_of(gateway_url: str) -> dict[str, str]:
    """Where the gateway says that its Temporal is, as settings."""
    try:
        async with make_http_client(timeout=_GATEWAY_SECONDS, headers=authorization()) as http:
            answer = await http.get(f"{gateway_url.rstrip('/')}{TEMPORAL_PATH}")
            named = answer.raise_for_status().json()
            return {"temporal_address": str(named["address"]), "temporal_namespace": str(named["namespace"])}
    except (httpx.HTTPError, httpx.InvalidURL, ValueError, KeyError, TypeError) as problem:
        raise UnreachableError(
            f"the gateway at {gateway_url} doesn't say where its Temporal is ({problem or type(problem).__name__}): "
            "give its address with --gateway, or Temporal's with --temporal-address"
        ) from None
