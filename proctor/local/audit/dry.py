"""The checks' verdicts on acts that aren't played. They are fast enough to try out every possible answer."""

from collections.abc import Iterable
from typing import Any

import orjson

from proctor.local.audit.plays import Outcome, Stage, make_request
from proctor.scenarios.kit.making.duty import Act
from purple_sdk.protocol.results import ActionLogEntryWithTurn

_CHANGING = {"calendar": "events", "email": "emails"}


def dry_outcome(stage: Stage, acts: Iterable[Act]) -> Outcome:
    """The outcome of acts, as if each act had been done at its time.

    All actions are logged. In the state, only calendar entries and existing mails change.
    """
    changing = {room: stage.before.get(room, {inner: {}}) for room, inner in _CHANGING.items()}
    states = {**stage.before, **orjson.loads(orjson.dumps(changing))}  # a copy, many times faster than deepcopy
    log = []
    for act in sorted(acts, key=lambda act: act.at):
        at = next((start for start in stage.day.starts if act.at <= start <= act.until), act.at)
        action, fields = make_request(act, stage.day)
        log.append(
            ActionLogEntryWithTurn(
                turn=1 + sum(start < at for start in stage.day.starts),
                timestamp=at,
                action=action,
                parameters={name: value for name, value in fields.items() if value is not None},
                success=True,
            )
        )
        _apply(states, action, fields, len(log), stage.day.user.email)
    return stage.outcome(log, states)


def skipped_by_lapses(stage: Stage) -> dict[tuple[str, str], frozenset[str]]:
    """For each (duty's key, lapse's name), the ids of the duty's ungated checks that the lapse leaves unattempted."""
    duties = stage.day.duties
    skipped = {}
    for duty in duties:
        others = [act for other in duties if other is not duty for act in other.acts]
        for lapse in duty.lapses:
            attempted = dry_outcome(stage, [*others, *lapse.change(duty.acts)]).attempted
            work = (check.id for check in duty.checks if not check.gated)
            skipped[duty.key, lapse.name] = frozenset(check for check in work if not attempted[check])
    return skipped


def _apply(states: dict[str, Any], action: str, fields: dict[str, Any], number: int, user: str) -> None:
    events, mails = states["calendar"]["events"], states["email"]["emails"]
    match action:
        case "calendar.create":
            attendees = [{"response": "needs-action", **guest} for guest in fields.get("attendees") or []]
            events[f"new-{number}"] = {**fields, "attendees": attendees, "status": "confirmed"}
        case "calendar.update":
            events.get(fields["event_id"], {}).update(fields)
        case "calendar.delete":
            events.pop(fields["event_id"], None)
        case "calendar.respond":
            for attendee in events.get(fields["event_id"], {}).get("attendees") or []:
                if attendee["email"] == (fields.get("attendee_email") or user):
                    attendee["response"] = fields["response"]
        case "email.archive" | "email.move" | "email.delete" | "email.label" | "email.unlabel" | "email.star":
            for message_id in fields["message_ids"]:
                _file(mails.get(message_id, {}), action, fields)


def _file(mail: dict[str, Any], action: str, fields: dict[str, Any]) -> None:
    match action:
        case "email.label":
            mail["labels"] = [*mail.get("labels", []), *fields["labels"]]
        case "email.unlabel":
            mail["labels"] = [label for label in mail.get("labels", []) if label not in fields["labels"]]
        case "email.star":
            mail["is_starred"] = True
        case _:
            mail["folder"] = {"email.archive": "archive", "email.delete": "trash"}.get(action) or fields["folder"]
