"""Make a turn's report from its relay's record: the actions, the use of models, and the transcript."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from purple_sdk.agent import BasePurpleAgent
from purple_sdk.harness.budget import Budget
from purple_sdk.harness.record import Record, UsedTool
from purple_sdk.harness.relay import Relay
from purple_sdk.harness.tools import SimulationTools
from purple_sdk.harness.trajectory import make_trajectory
from purple_sdk.harness.upstream import Upstream
from purple_sdk.protocol.actions import USER_ACTIONS, action_name
from purple_sdk.protocol.messages import ActionLogEntry, TurnCompleteMessage

_LONGEST_NOTES = 2_000
_LONGEST_PROBLEM = 600


@asynccontextmanager
async def reported_relay(agent: BasePurpleAgent, budget: Budget, upstream: Upstream) -> AsyncIterator[Relay]:
    """Open a relay for a try of the agent's turn. At its end, report the use of models and the actions, even if the try
    fails.
    """
    relay = Relay(upstream, SimulationTools(f"{agent.ues_url}/mcp", agent.api_key), budget)
    try:
        async with relay:
            yield relay
    finally:
        _report(agent, relay.record)


def complete(
    agent: BasePurpleAgent,
    record: Record,
    *,
    name: str,
    answer: str,
    prompt: str,
    version: str = "",
    session: str | None = None,
) -> TurnCompleteMessage:
    """Complete a turn, with its transcript.

    Args:
        name, version: name and version of the program that played the turn.
        answer: the program's last words.
        session: the id of its session, if it has one.
    """
    model = agent.config.model
    transcript = make_trajectory(record, agent=name, version=version, model=model, session=session or "", prompt=prompt)
    return agent.complete_turn(notes=answer[:_LONGEST_NOTES] or None, trajectory=transcript)


def _report(agent: BasePurpleAgent, record: Record) -> None:
    for answer in record.answers:
        agent.note_model_use(answer.model or agent.config.model, answer.input_tokens, answer.output_tokens)
    for used in record.used_tools:
        if (entry := _as_action(used, agent)) is not None:
            agent.report_action(entry)


def _as_action(used: UsedTool, agent: BasePurpleAgent) -> ActionLogEntry | None:
    action = action_name(used.usual.replace("_", ".", 1))
    if action not in USER_ACTIONS:
        return None
    return ActionLogEntry(
        timestamp=agent.current_time,
        action=action,
        parameters=dict(used.arguments),
        success=not used.is_error,
        error_message=used.result[:_LONGEST_PROBLEM] if used.is_error else None,
    )
