"""What a judge's model gets to see: the participant's deeds and words and the simulation's state, within a budget."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from activities.judging.rubric import texts_written
from activities.models.prompts import quote_untrusted, shorten, within_budget
from proctor_protocol.evaluation import AgentBeatsEvalContext
from proctor_protocol.readings import instant

_ACTIONS_BUDGET = 14_000
_WRITINGS_BUDGET = 24_000
_NOTES_BUDGET = 4_000
_STATE_BUDGET = 22_000
_LONGEST_PARAMETER = 200
_LONGEST_ENTRY = 3_000

_ENTRIES = {"email": "emails", "sms": "messages", "chat": "messages", "calendar": "events", "contacts": "contacts"}
_TIMES = ("received_at", "sent_at", "timestamp", "start", "updated_at", "created_at")
_BEGINNING = datetime.min.replace(tzinfo=UTC)


def evidence(ctx: AgentBeatsEvalContext) -> str:
    """The evidence of an assessment as prompt text.

    Deeds, words and notes keep the newest where not all fits. Of the state, what changed or is mentioned by the
    participant's actions comes first, then the newest. Every block is quoted as untrusted and says what was cut.
    """
    sections = {
        "What the assistant did (the simulator's event log, one JSON object a line)": _actions(ctx),
        "What the assistant wrote": _writings(ctx),
        "What the assistant noted for the evaluator at the end of its turns": _notes(ctx),
        "The environment after the last turn (entries that changed stand with what they were before)": _state(ctx),
    }
    return "\n\n".join(
        f"{title}:\n{quote_untrusted(title.partition(' (')[0], text or '(nothing)')}"
        for title, text in sections.items()
    )


def _actions(ctx: AgentBeatsEvalContext) -> str:
    lines = []
    for entry in ctx.action_log:
        line = {"turn": entry.turn, "at": entry.timestamp.isoformat(), "action": entry.action}
        line |= {"parameters": _short(entry.parameters), "success": entry.success}
        lines.append(_json(line | ({"error": entry.error_message} if entry.error_message else {})))
    return within_budget(lines, _newest_last(len(lines)), _ACTIONS_BUDGET, "actions")


def _writings(ctx: AgentBeatsEvalContext) -> str:
    texts = texts_written(ctx.action_log)
    pieces = [
        f"--- turn {text.turn}, {text.modality}{' to ' + ', '.join(text.recipients) if text.recipients else ''}:\n"
        f"{text.text.strip()}"
        for text in texts
    ]
    return within_budget(pieces, _newest_last(len(pieces)), _WRITINGS_BUDGET, "texts")


def _notes(ctx: AgentBeatsEvalContext) -> str:
    pieces = [f"turn {turn}: {note}" for turn, note in sorted(ctx.turn_notes.items()) if note]
    return within_budget(pieces, _newest_last(len(pieces)), _NOTES_BUDGET, "notes")


def _newest_last(count: int) -> list[tuple[float, ...]]:
    return [(float(index),) for index in range(count)]


@dataclass(frozen=True)
class _Entry:
    modality: str
    key: str
    before: Any
    after: Any

    @property
    def changed(self) -> bool:
        return bool(self.before != self.after)

    @property
    def time(self) -> float:
        newest = self.after if isinstance(self.after, Mapping) else self.before
        return max((_moment(newest.get(name)) for name in _TIMES), default=_BEGINNING).timestamp() if newest else 0.0


def _state(ctx: AgentBeatsEvalContext) -> str:
    mentioned = {string.lower() for entry in ctx.action_log for string in _strings_in(entry.parameters)}
    entries = list(_entries(ctx.initial_state, ctx.final_state))
    pieces, ranks = [], []
    for entry in entries:
        related = entry.changed or any(string.lower() in mentioned for string in _strings_in([entry.key, entry.after]))
        pieces.append(shorten(_describe(entry), _LONGEST_ENTRY))
        ranks.append((float(related), entry.time))
    return within_budget(pieces, ranks, _STATE_BUDGET, "entries")


def _entries(initial: Mapping[str, Any], final: Mapping[str, Any]) -> Iterator[_Entry]:
    for modality in final:
        before, after = (_keyed(modality, states.get(modality)) for states in (initial, final))
        for key in {**before, **after}:
            yield _Entry(modality, key, before.get(key), after.get(key))


def _keyed(modality: str, state: Any) -> dict[str, Any]:
    """A modality's entries by id; the whole state as one entry where it isn't a collection."""
    if not isinstance(state, Mapping):
        return {}
    entries = state.get(_ENTRIES.get(modality, ""))
    if isinstance(entries, Mapping):
        return {str(key): entry for key, entry in entries.items()}
    if isinstance(entries, list):
        return {str(entry.get("message_id", index)): entry for index, entry in enumerate(entries)}
    return {} if modality in _ENTRIES else {"state": dict(state)}


def _describe(entry: _Entry) -> str:
    if entry.before is None:
        return f"{entry.modality} {entry.key}, new: {_json(_bare(entry.after))}"
    if entry.after is None:
        return f"{entry.modality} {entry.key}, no longer there; it was: {_json(_bare(entry.before))}"
    if not entry.changed or not isinstance(entry.before, Mapping):
        return f"{entry.modality} {entry.key}: {_json(_bare(entry.after))}"
    was = {name: value for name, value in entry.before.items() if entry.after.get(name) != value}
    return f"{entry.modality} {entry.key}: {_json(_bare(entry.after))}, before: {_json(was)}"


def _bare(entry: Any) -> Any:
    """An entry without what is empty, and without the HTML twin of a text."""
    if not isinstance(entry, Mapping):
        return entry
    return {
        name: value
        for name, value in entry.items()
        if value not in (None, "", [], {}) and not (name == "body_html" and entry.get("body_text"))
    }


def _short(value: Any) -> Any:
    if isinstance(value, str):
        return value if len(value) <= _LONGEST_PARAMETER else value[:_LONGEST_PARAMETER] + "…"
    if isinstance(value, list):
        return [_short(member) for member in value]
    if isinstance(value, Mapping):
        return {name: _short(member) for name, member in value.items()}
    return value


def _strings_in(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for member in value.values():
            yield from _strings_in(member)
    elif isinstance(value, list | tuple):
        for member in value:
            yield from _strings_in(member)


def _moment(value: Any) -> datetime:
    try:
        return instant(value) if isinstance(value, str) else _BEGINNING
    except ValueError:
        return _BEGINNING


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)
