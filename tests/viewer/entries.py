"""Entries of an archive for which no assessment has to be played: an ordinary day, and one that is all hostile."""

import base64
import hashlib
from datetime import UTC, datetime, timedelta
from typing import Any

from pydantic import JsonValue
from pydantic_core import to_json

from proctor.protocol.archive import (
    ArchivedUpdate,
    ArchiveEntry,
    Arrival,
    Items,
    ReplyRecord,
    StateRecord,
    TurnRecord,
    merge_patch,
    trajectory_file,
)
from proctor.storage.archive import Archive
from purple_sdk.protocol.provenance import ModelUse, Provenance
from purple_sdk.protocol.results import (
    ActionLogEntryWithTurn,
    ActionReport,
    AssessmentResults,
    CriterionResult,
    ReportedAction,
    assessment_results,
)

MORNING = datetime(2026, 3, 10, 7, tzinfo=UTC)
ANNA, OWNER = "anna@work.example", "ben@home.example"

HOSTILE = (
    '<script>window.pwned = 1</script><img src=x onerror="window.pwned = 2">'
    '<a href="javascript:window.pwned = 3">click</a><style>* { display: none !important }</style>'
    '</textarea></title></script><svg onload="window.pwned = 4"><link rel=stylesheet href=http://elsewhere.example/x>'
    '<iframe src="http://elsewhere.example/"></iframe>" onfocus="window.pwned = 5" autofocus="\' ]]> {{ 7 * 7 }} --><!-'
)
"""All at once, wherever a participant may write."""


def mail(subject: str, body: str, at: datetime, **more: Any) -> dict[str, Any]:
    return {
        "from_address": ANNA,
        "to_addresses": [OWNER],
        "subject": subject,
        "body_text": body,
        "received_at": at.isoformat(),
        "folder": "inbox",
        "is_read": False,
        "labels": [],
        **more,
    }


def write_day(
    archive: Archive,
    name: str,
    *,
    turns: int = 3,
    did: str = "urgent",
    text: str | None = None,
    campaign: str | None = None,
    scenario: str = "lunch",
    transcripts: int = 0,
    attached: bytes | None = None,
) -> ArchiveEntry:
    """An assessment of some turns, in each of which a mail comes in and is labelled.

    Args:
        archive: where to.
        name: its id.
        turns: how many.
        did: the label that the participant gives.
        text: what everybody writes everywhere; ordinary words where it isn't said.
        campaign: the campaign that it is of.
        scenario: the scenario's id.
        transcripts: the number of turns, from the first on, whose transcript the participant sent.
        attached: the content of a file of the first mail.
    """
    written = text or "Could we have lunch on Thursday?"
    newest: dict[str, JsonValue] = mail(text or "Lunch?", written, MORNING, thread_id=text or "t0")
    before: Items = {
        "email/user_email_address": OWNER,
        "email/emails/m0": newest,
        "sms/messages/s0": {"from_number": text or "+4477", "body": written, "direction": "incoming", "sent_at": "x"},
        "calendar/events/e0": {
            "title": text or "Stand-up",
            "start": MORNING.isoformat(),
            "end": (MORNING + timedelta(hours=1)).isoformat(),
            "attendees": [{"email": ANNA, "response": "accepted", "comment": written}],
        },
        "chat/messages/c0": {"role": text or "user", "content": written, "timestamp": MORNING.isoformat()},
    }
    if attached is not None:
        sha256 = hashlib.sha256(attached).hexdigest()
        file: JsonValue = {
            "filename": text or "menu.pdf",
            "mime_type": "application/pdf",
            "size": len(attached),
            "sha256": sha256,
        }
        before["email/emails/m0"] = newest = {**newest, "attachments": [file]}
        before[f"email/files/{sha256}"] = {"content": base64.b64encode(attached).decode()}
    initial, states, records, log = dict(before), [StateRecord(turn=0, time=MORNING)], [], []
    for turn in range(1, turns + 1):
        now, after = MORNING + timedelta(hours=turn), dict(before)
        last = f"email/emails/m{turn - 1}"
        after[last] = {**newest, "labels": [text or did], "is_read": True}
        newest = mail(text or f"News of turn {turn}", written, now, thread_id=f"t{turn}")
        after[f"email/emails/m{turn}"] = newest
        states.append(StateRecord(turn=turn, time=now, patch=merge_patch(before, after)))
        action = ActionLogEntryWithTurn(
            turn=turn,
            timestamp=now - timedelta(hours=1),
            action=text or "email.label",
            parameters={"message_ids": [f"m{turn - 1}"], "labels": [text or did], "body_text": written},
            success=text is None,
            error_message=text,
        )
        log.append(action)
        records.append(
            TurnRecord(
                turn=turn,
                began_at=now - timedelta(hours=1),
                reached=now,
                arrived=[Arrival(path=last, at=now, who=text or ANNA, what=text or "Lunch?")],
                actions=[action],
                notes=text,
                answers=[ReplyRecord(character_id="anna", modality="email", at=now, text=written, to=text or "Lunch?")],
                troubles=[text] if text else [],
            )
        )
        before = after
    results = _results(name, log, turns, text)
    entry = ArchiveEntry(
        id=name,
        fence=1,
        status=results.status,
        sentence=text or "",
        campaign=campaign,
        scenario_id=scenario,
        scenario_name=text or "A lunch is arranged",
        participant=text or "secretary",
        participant_url=text or "http://agent.example:8001",
        seed=7,
        score=results.scores.overall.score,
        max_score=results.scores.overall.max_score,
        total_points=results.total_points,
        turns_taken=turns,
        actions_taken=len(log),
        judge_warnings=results.judge_warnings,
        started_at=MORNING,
        ended_at=MORNING + timedelta(minutes=1),
        temporal_namespace="default",
    )
    files = {
        "result.json": results.model_dump_json().encode(),
        "updates.jsonl": ArchivedUpdate(sequence=0, data={}).model_dump_json().encode(),
        "turns.jsonl": b"\n".join(record.model_dump_json().encode() for record in records),
        "states.jsonl": b"\n".join(state.model_dump_json().encode() for state in states),
        **{trajectory_file(turn): to_json(_trajectory(written)) for turn in range(1, transcripts + 1)},
    }
    return archive.write(entry, files, {"initial_state": to_json(initial)})


def _trajectory(written: str) -> dict[str, Any]:
    """A transcript of one question and one answer with a call, with the same words everywhere."""
    answer = {
        "source": "agent",
        "message": written,
        "reasoning_content": written,
        "tool_calls": [{"tool_call_id": "c1", "function_name": written, "arguments": {"labels": [written]}}],
        "observation": {"results": [{"source_call_id": "c1", "content": f"labelled: {written}"}]},
        "metrics": {"prompt_tokens": 1200, "completion_tokens": 30},
    }
    return {"schema_version": "ATIF-v1.7", "steps": [{"source": "user", "message": written}, answer], "notes": written}


def _results(name: str, log: list[ActionLogEntryWithTurn], turns: int, text: str | None) -> AssessmentResults:
    quote = {"record": "s1", "quote": text or "lunch on Thursday", "kind": "state", "channel": "email", "entry": "m0"}
    action = {"record": "a1", "quote": text or "m1", "kind": "action", "channel": "email", "turn": min(2, turns)}
    judged = [
        CriterionResult(
            criterion_id="asks",
            name="Anna is asked",
            dimension="accuracy",
            score=1,
            max_score=4,
            explanation=text or "She was asked late.",
            description="Anna is asked in the first turn.",
            judged_by="model:judge",
            judge_warnings=[text or "judge judge: not calibrated on the items of lunch"],
            details={
                "items": [
                    {
                        "id": "in_time",
                        "statement": text or "She is asked in time.",
                        "points": 0,
                        "max_points": 3,
                        "met": False,
                        "reason": text or "The mail came in turn 2.",
                        "quotes": [quote, action],
                    }
                ]
            },
        ),
        CriterionResult(
            criterion_id="polite",
            name="Mails are polite",
            dimension="politeness",
            score=2,
            max_score=2,
            explanation=text or "They are.",
            judged_by="offline_rubric",
        ),
    ]
    claim = ReportedAction(
        turn=1, timestamp=MORNING, action=text or "sms.send", parameters={"body": text or "Hi"}, success=True
    )
    return assessment_results(
        assessment_id=name,
        scenario_id="lunch",
        participant="personal_assistant",
        status="failed" if text else "completed",
        duration_seconds=61.0,
        turns_taken=turns,
        criteria_results=judged,
        action_log=log,
        action_report=ActionReport(reported=[claim], unreported=log[:1], never_happened=[claim]),
        seed=7,
        failure=text,
        turn_tries={"2": 3},
        provenance=Provenance(
            judges=[ModelUse(model="judge-1", calls=2, input_tokens=900, output_tokens=40, cost=0.25, currency="USD")]
        ),
    )
