"""The participant's report beside the event log."""

from datetime import UTC, datetime
from random import Random
from typing import Any

import pytest

from proctor.activities.participant.action_report import compare
from purple_sdk.protocol.results import ActionLogEntryWithTurn, ReportedAction
from tests.work import calls_in

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)


def _said(action: str, turn: int = 1, success: bool = True, **parameters: Any) -> ReportedAction:
    return ReportedAction(timestamp=NOON, action=action, parameters=parameters, success=success, turn=turn)


def _did(action: str, turn: int = 1, success: bool = True, **parameters: Any) -> ActionLogEntryWithTurn:
    return ActionLogEntryWithTurn(turn=turn, timestamp=NOON, action=action, parameters=parameters, success=success)


SAME = [
    (_said("email.send", to_addresses=["A@b.example"]), _did("email.send", to_addresses=["a@B.example"], subject="S")),
    (_said("email.send", to="Ann <a@b.example>"), _did("email.send", to_addresses=["a@b.example"])),
    (
        _said("email.reply", message_id="m1", body="Hi "),
        _did("email.send", body_text="Hi", to_addresses=["x@y.example"]),
    ),
    (_said("email.mark_read", email_id="m1"), _did("email.read", message_ids=["m1"])),
    (_said("mark_email_read"), _did("email.read", message_ids=["m1"])),
    (_said("email.add_label", label="urgent"), _did("email.label", labels=["urgent"], message_ids=["m1"])),
    (_said("email.label", labels=["a", "b"]), _did("email.label", labels=["b", "a"])),
    (_said("send_email"), _did("email.send")),
    (_said("Email/Send"), _did("email.send")),
    (_said("sms.send_message", to_numbers=["+1 (23)"]), _did("sms.send", to_numbers=["+123"], body="B")),
    (_said("chat.send_message", content="C"), _did("chat.send", content="C", role="assistant")),
    (
        _said("calendar.create_event", start="2026-03-05T10:00:00Z"),
        _did("calendar.create", start="2026-03-05T11:00:00+01:00", title="T"),
    ),
    (
        _said("calendar.update", attendees=["A@b.example"]),
        _did("calendar.update", attendees=[{"email": "a@b.example"}]),
    ),
    (_said("calendar.rsvp", response="accepted"), _did("calendar.respond", response="accepted")),
    (_said("email.move", count=1.0), _did("email.move", count=1)),
]


@pytest.mark.parametrize(("report", "entry"), SAME)
def test_these_are_the_same_action(report: ReportedAction, entry: ActionLogEntryWithTurn) -> None:
    result = compare([report], [entry])
    assert (result.unreported, result.never_happened) == ([], [])
    assert result.reported == [report]


DIFFERENT = [
    (_said("email.send", to_addresses=["a@b.example"]), _did("email.send", to_addresses=["c@b.example"])),
    (_said("email.send", turn=2), _did("email.send", turn=1)),
    (_said("email.archive", message_ids=["m1"]), _did("email.delete", message_ids=["m1"])),
    (_said("sms.send", body="x"), _did("chat.send", content="x")),
    (_said("email.archive", message_ids=["m1", "m2"]), _did("email.archive", message_ids=["m1"])),
    (_said("email.send"), _did("email.send", success=False)),
]


@pytest.mark.parametrize(("report", "entry"), DIFFERENT)
def test_these_are_not(report: ReportedAction, entry: ActionLogEntryWithTurn) -> None:
    result = compare([report], [entry])
    assert result.never_happened == [report]
    assert result.unreported == ([entry] if entry.success else [])


def test_a_reported_failure_and_a_look_claim_no_action() -> None:
    reports = [
        _said("email.send", success=False),
        _said("email.query"),
        _said("calendar.get_state"),
        _said("list_emails"),
    ]
    result = compare(reports, [_did("email.send")])
    assert result.never_happened == []
    assert result.unreported == [_did("email.send")]


def test_one_action_answers_for_one_report() -> None:
    reports = [_said("email.archive", message_ids=["m1"])] * 2
    result = compare(reports, [_did("email.archive", message_ids=["m1"])])
    assert result.never_happened == [reports[0]]


def test_exact_twins_are_matched_before_likenesses() -> None:
    vague, exact = _said("email.send"), _said("email.send", subject="S")
    twin, other = _did("email.send", subject="S"), _did("email.send", subject="T", to_addresses=["a@b.example"])
    assert compare([vague, exact], [twin]).never_happened == [vague]
    result = compare([vague, exact], [twin, other])
    assert (result.never_happened, result.unreported) == ([], [])


def test_as_many_as_possible_are_matched() -> None:
    # The first report fits both actions, the second only the one that the first would take by itself.
    reports = [_said("email.send"), _said("email.send", subject="S"), _said("email.send", subject="S", body="B")]
    actions = [
        _did("email.send", subject="S", body_text="B"),
        _did("email.send", subject="S", body_text="C"),
        _did("email.send", subject="T", body_text="D"),
    ]
    result = compare(reports, actions)
    assert (result.never_happened, result.unreported) == ([], [])


def test_an_enormous_report_is_little_work() -> None:
    # It is compared inside a workflow task, which may take two seconds: a fraction of it on the slowest machine.
    vague = [_said("email.read", note=number) for number in range(2500)]
    exact = [_said("email.read", message_ids=[f"m{number}"]) for number in range(250, 1250)]
    actions = [_did("email.read", message_ids=[f"m{number}"], kind="x") for number in range(500)]
    calls, result = calls_in(lambda: compare([*vague, *exact], actions))
    assert calls < 500_000
    assert (len(result.never_happened), len(result.unreported)) == (3000, 0)


def test_an_action_that_has_more_than_was_done_is_no_exact_twin() -> None:
    reports = [_said("email.send", subject="S", mood="glad"), _said("email.send", subject="S")]
    result = compare(reports, [_did("email.send", subject="S")])
    assert result.never_happened == reports[:1]


def test_reports_of_very_many_values_are_compared_for_the_first_turns_only() -> None:
    """A step of a workflow that takes two seconds is begun again, without an end."""
    reports = [_said("email.send", turn, to=[f"a{number}@b" for number in range(9_000)]) for turn in (1, 2, 3, 4)]
    result = compare(reports, [_did("email.send", turn, to_addresses=["c@d"]) for turn in (1, 2, 3, 4)])
    assert [entry.turn for entry in result.never_happened] == [1, 2]
    assert [entry.turn for entry in result.unreported] == [1, 2]
    assert result.reported == reports


def _brute_force(reports: list[ReportedAction], actions: list[ActionLogEntryWithTurn]) -> int:
    """How many of the reports can be matched at most, by trying everything."""
    if not reports:
        return 0
    first, rest = reports[0], reports[1:]
    best = _brute_force(rest, actions)
    for place, action in enumerate(actions):
        if all(action.parameters.get(name, value) == value for name, value in first.parameters.items()):
            best = max(best, 1 + _brute_force(rest, actions[:place] + actions[place + 1 :]))
    return best


def test_no_matching_is_larger() -> None:
    draw = Random(7)
    for _ in range(300):

        def parameters() -> dict[str, Any]:
            return {name: draw.choice("ab") for name in ("subject", "folder", "priority") if draw.random() < 0.6}

        reports = [_said("email.move", **parameters()) for _ in range(draw.randint(0, 5))]
        actions = [_did("email.move", **parameters()) for _ in range(draw.randint(0, 5))]
        result = compare(reports, actions)
        matched = len(reports) - len(result.never_happened)
        assert matched == _brute_force(reports, actions) == len(actions) - len(result.unreported)
