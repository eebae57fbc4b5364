"""The report of a turn, by what passed through its relay: the actions, and the use of models."""

from proctor_protocol.actions import USER_ACTIONS, action_name
from proctor_protocol.messages import ActionLogEntry
from purple_sdk.agent import BasePurpleAgent
from purple_sdk.harness.relay import Record, UsedTool

_LONGEST_PROBLEM = 600


def report(agent: BasePurpleAgent, record: Record) -> None:
    """Count the models' use and report the actions of a turn."""
    for answer in record.answers:
        agent.note_model_use(answer.model or agent.config.model, answer.input_tokens, answer.output_tokens)
    for used in record.used_tools:
        if (entry := _as_action(used, agent)) is not None:
            agent.report_action(entry)


def _as_action(used: UsedTool, agent: BasePurpleAgent) -> ActionLogEntry | None:
    action = action_name(used.name.replace("_", ".", 1))
    if action not in USER_ACTIONS:
        return None
    return ActionLogEntry(
        timestamp=agent.current_time,
        action=action,
        parameters=dict(used.arguments),
        success=not used.is_error,
        error_message=used.result[:_LONGEST_PROBLEM] if used.is_error else None,
    )
