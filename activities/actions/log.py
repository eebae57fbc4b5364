"""What the participant did, from the simulation's own event log (seed 000, section 3.4)."""

from collections.abc import Iterable, Mapping
from typing import Any

from activities.actions.report import compare
from proctor_protocol.messages import ActionLogEntry
from proctor_protocol.results import ActionLogEntryWithTurn

__all__ = [
    "ActionLog",
    "ActionLogError",
    "InvalidTurnNumberError",
    "InvalidTurnStateError",
    "compare",
    "entries_from_events",
]

_EXECUTED, _FAILED = "executed", "failed"

# An input's operation, where the route that makes it is called otherwise (UES contract).
_ROUTE_OF_OPERATION = {
    ("email", "mark_read"): "read",
    ("email", "mark_unread"): "unread",
    ("email", "add_label"): "label",
    ("email", "remove_label"): "unlabel",
    ("sms", "send_message"): "send",
    ("sms", "receive_message"): "receive",
    ("sms", "delete_message"): "delete",
    ("sms", "edit_message"): "edit",
    ("sms", "add_reaction"): "react",
    ("sms", "remove_reaction"): "unreact",
    ("sms", "update_conversation"): "conversation",
    ("chat", "send_message"): "send",
    ("chat", "delete_message"): "delete",
    ("chat", "clear_conversation"): "clear",
}
_NOT_PARAMETERS = {"modality_type", "timestamp", "input_id", "operation", "action"}
_DEFAULT_OPERATION = {"chat": "send_message"}


def entries_from_events(events: Iterable[Mapping[str, Any]], key_id: str, turn: int) -> list[ActionLogEntryWithTurn]:
    """Read the participant's actions off event answers of ``GET /events``.

    Args:
        events: event answers, in the order of the log.
        key_id: the participant's key; events of other agents are passed over, and so are those that never ran.
        turn: the turn that they happened in.

    Returns:
        One entry an event, by time and then as given. ``action`` is modality and route, for example ``email.read``;
        ``parameters`` are the input's fields that aren't null.
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
    return f"{modality}.{_ROUTE_OF_OPERATION.get((modality, operation), operation)}"


def _parameters(data: Mapping[str, Any]) -> dict[str, Any]:
    """The fields that say what was done; an SMS's ``message_data`` and its like are lifted up."""
    parameters: dict[str, Any] = {}
    for name, value in data.items():
        if name in _NOT_PARAMETERS or value is None:
            continue
        if name.endswith("_data") and isinstance(value, Mapping):
            parameters.update({key: inner for key, inner in value.items() if inner is not None})
        else:
            parameters[name] = value
    return parameters


class ActionLogError(Exception):
    """The log was used in an order that makes no sense."""


class InvalidTurnStateError(ActionLogError):
    """A turn was started while one is active, or an action or an end came while none is."""


class InvalidTurnNumberError(ActionLogError):
    """A turn that isn't the one after the last."""

    def __init__(self, expected: int, actual: int) -> None:
        super().__init__(f"turn {actual} can't be started: the next turn is {expected}")
        self.expected = expected
        self.actual = actual


class ActionLog:
    """The actions of an assessment, turn after turn from 1.

    ``start_turn``, then ``add_action`` any number of times, then ``end_turn``; again for the next turn.
    """

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Forget everything: the next turn is turn 1."""
        self._entries: list[ActionLogEntryWithTurn] = []
        self._turn = 0
        self._active = False

    @property
    def current_turn(self) -> int:
        """The number of the turn that was started last; 0 before the first."""
        return self._turn

    @property
    def is_turn_active(self) -> bool:
        """Whether a turn was started and not ended."""
        return self._active

    def start_turn(self, turn_number: int) -> None:
        """Begin a turn.

        Raises:
            InvalidTurnStateError: the turn before is still active.
            InvalidTurnNumberError: not the number after the last turn's.
        """
        if self._active:
            raise InvalidTurnStateError(f"turn {self._turn} is still active: end it before turn {turn_number} starts")
        if turn_number != self._turn + 1:
            raise InvalidTurnNumberError(expected=self._turn + 1, actual=turn_number)
        self._turn = turn_number
        self._active = True

    def end_turn(self) -> int:
        """End the active turn and return how many actions it has.

        Raises:
            InvalidTurnStateError: no turn is active.
        """
        self._require_active("end")
        self._active = False
        return len(self.get_actions_by_turn(self._turn))

    def add_action(self, entry: ActionLogEntry | ActionLogEntryWithTurn) -> ActionLogEntryWithTurn:
        """Add an action to the active turn and return it with the turn's number.

        Raises:
            InvalidTurnStateError: no turn is active.
            InvalidTurnNumberError: the entry is one of another turn.
        """
        self._require_active("add an action to")
        if isinstance(entry, ActionLogEntryWithTurn):
            if entry.turn != self._turn:
                raise InvalidTurnNumberError(expected=self._turn, actual=entry.turn)
            added = entry
        else:
            added = ActionLogEntryWithTurn(turn=self._turn, **entry.model_dump(exclude={"message_type"}))
        self._entries.append(added)
        return added

    def add_actions(self, entries: Iterable[ActionLogEntry | ActionLogEntryWithTurn]) -> list[ActionLogEntryWithTurn]:
        """Add several actions; raises as ``add_action`` does."""
        return [self.add_action(entry) for entry in entries]

    def _require_active(self, purpose: str) -> None:
        if not self._active:
            raise InvalidTurnStateError(f"there is no turn to {purpose}: start turn {self._turn + 1} first")

    def get_log(self) -> list[ActionLogEntryWithTurn]:
        """All actions in order, as a list of one's own."""
        return list(self._entries)

    def get_total_actions(self) -> int:
        """How many actions there are."""
        return len(self._entries)

    def get_successful_actions(self) -> int:
        """How many actions succeeded."""
        return sum(entry.success for entry in self._entries)

    def get_failed_actions(self) -> int:
        """How many actions failed."""
        return len(self._entries) - self.get_successful_actions()

    def get_actions_by_turn(self, turn_number: int) -> list[ActionLogEntryWithTurn]:
        """The actions of one turn."""
        return [entry for entry in self._entries if entry.turn == turn_number]

    def get_actions_by_type(self, action_type: str) -> list[ActionLogEntryWithTurn]:
        """The actions of one kind, for example ``email.send``."""
        return [entry for entry in self._entries if entry.action == action_type]
