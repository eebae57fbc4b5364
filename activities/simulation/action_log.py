"""The participant's actions, read off the simulator's event log."""

from collections.abc import Iterable, Mapping
from typing import Any

from purple_sdk.protocol.actions import action_name
from purple_sdk.protocol.results import ActionLogEntryWithTurn

_EXECUTED, _FAILED = "executed", "failed"

_NOT_PARAMETERS = {"modality_type", "timestamp", "input_id", "operation", "action"}
_DEFAULT_OPERATION = {"chat": "send_message"}


def entries_from_events(events: Iterable[Mapping[str, Any]], key_id: str, turn: int) -> list[ActionLogEntryWithTurn]:
    """Read the participant's actions from events in the form of ``GET /events``, in the order of the log. Only executed
    or failed events by the participant's key count.

    Returns one entry per event, sorted by time. ``action`` is the action's name (``purple_sdk.protocol.actions``), for
    example ``email.mark_read``. ``parameters`` are the input's fields that aren't null.
    """
    actions = [
        _entry(event, turn)
        for event in events
        if event.get("agent_id") == key_id and event.get("status") in (_EXECUTED, _FAILED)
    ]
    return sorted(actions, key=lambda entry: entry.timestamp)


def _entry(event: Mapping[str, Any], turn: int) -> ActionLogEntryWithTurn:
    modality, data = event["modality"], event.get("data") or {}
    return ActionLogEntryWithTurn(
        turn=turn,
        timestamp=event.get("executed_at") or event["scheduled_time"],
        action=_action_name(modality, data),
        parameters=_parameters(data),
        success=event["status"] == _EXECUTED,
        error_message=event.get("error_message"),
    )


def _action_name(modality: str, data: Mapping[str, Any]) -> str:
    operation = data.get("operation") or data.get("action") or _DEFAULT_OPERATION.get(modality, "update")
    if (modality, operation) == ("sms", "update_delivery_status"):
        status = (data.get("delivery_update_data") or {}).get("new_status")
        operation = status if status in ("read", "unread") else operation
    return action_name(f"{modality}.{operation}")


def _parameters(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields that describe an action. Nested fields, such as those in an SMS's ``message_data``, are moved
    up.
    """
    parameters: dict[str, Any] = {}
    for name, value in data.items():
        if name in _NOT_PARAMETERS or value is None:
            continue
        if name.endswith("_data") and isinstance(value, Mapping):
            parameters.update({key: inner for key, inner in value.items() if inner is not None})
        else:
            parameters[name] = value
    return parameters
