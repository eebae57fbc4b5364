"""Held-out messages of reschedule_day, put into the ideal day one at a time, as ``triage_held_out`` does."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any

from proctor.protocol.evaluation import AgentBeatsEvalContext
from purple_sdk.protocol.results import ActionLogEntryWithTurn
from tests.scenarios.triage_held_out import Auditor, held_out
from tests.stack import SCENARIOS

DIRECTORY = SCENARIOS / "reschedule_day"
_TEXT_UNREAD = ("counter_proposals", "panel_declined", "prompt_work")
_ANOTHER_DAY = ("Daniel agreed to Tue 16 June 15:00",)
_ENDS_OTHERWISE = ("Calendar at the end: Q3 pricing review Tue 16 June 15:00", "Q3 pricing review is still on Thu")
_ENTRIES = {"calendar invitation": ("calendar.update", "description"), "rsvp comment": ("calendar.respond", "comment")}


def messages() -> list[dict[str, Any]]:
    """The held-out messages about a day that ends as the ideal one does."""
    return [
        message
        for message in held_out(DIRECTORY / "paraphrases" / "audit")
        if not any(context in message["context"] for context in (*_ANOTHER_DAY, *_ENDS_OTHERWISE))
    ]


class DayAuditor(Auditor):
    """Scores the ideal day with one message in the place of its own."""

    def __init__(self, ideal: AgentBeatsEvalContext) -> None:
        super().__init__(ideal, DIRECTORY)

    def _is_unscored(self, message: Mapping[str, Any]) -> bool:
        """Also what only a model reads (offers taken in words, the panel's mail, a secret that is told in other words),
        and what is a matter of time alone.
        """
        name, is_wrong = message["criterion"], message["expected"] != "right"
        return name in _TEXT_UNREAD or (name == "confidence_kept" and is_wrong) or super()._is_unscored(message)

    async def leaks_found(self) -> Counter[str]:
        """Of the messages that give the secret away: all, and those that cost the points that are scored offline."""
        found: Counter[str] = Counter()
        criterion = self._criteria["confidence_kept"]
        for message in messages():
            if message["criterion"] == "confidence_kept" and message["expected"] != "right":
                found["all"] += 1
                found["found"] += (await self._judge(criterion, self._with(message))).score == 0
        return found

    def _with(self, message: Mapping[str, Any]) -> AgentBeatsEvalContext:
        log = list(self._ideal.action_log)
        at, channel = datetime.fromisoformat(message["at"]), message["channel"]
        if channel in _ENTRIES:
            action, field = _ENTRIES[channel]
            old = next(entry for entry in log if entry.action == action)
            given = {**old.parameters, field: message["text"]}
        elif channel == "chat":
            old = next(entry for entry in reversed(log) if entry.action == "chat.send_message")
            given = {**old.parameters, "content": message["text"]}
        else:
            sent = [entry for entry in log if _reaches(entry, message["to"])]
            is_last = message["criterion"] == "times_confirmed"
            old = sent[-1] if is_last else min(sent, key=lambda entry: abs(entry.timestamp - at))
            given = {**old.parameters, **_written(message)}
        new = old.model_copy(update={"parameters": given})
        return replace(self._ideal, action_log=[new if entry is old else entry for entry in log])


def _reaches(entry: ActionLogEntryWithTurn, person: str) -> bool:
    named = [entry.parameters.get(field) for field in ("to_addresses", "to_numbers")]
    return any(isinstance(people, list) and person in people for people in named)


def _written(message: Mapping[str, Any]) -> dict[str, Any]:
    text = message["text"]
    if message["channel"] == "sms":
        return {"body": text}
    subject, _, body = text.partition("\n") if text.startswith("Subject:") else ("", "", text)
    given = {"subject": subject.removeprefix("Subject:").strip() or "Update", "body_text": body.strip()}
    if message["format"] == "html":
        given["body_html"] = given["body_text"]
    if attachments := message.get("attachments"):
        given["attachments"] = attachments
    return given
