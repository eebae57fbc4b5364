"""Assessments of several participants as forks find them: from which turns, and who plays."""

from datetime import UTC, datetime, timedelta

import pytest

from proctor.activities.admission.origins import Origin, Part
from proctor.activities.admission.payloads import Inherited, last_of_all
from proctor.activities.archive.payloads import TurnNote
from proctor.storage.blobs import BlobRef
from purple_sdk.protocol.request import AssessmentConfig

NOWHERE = BlobRef(sha256="0" * 64, size=0)
MORNING = datetime(2026, 3, 2, 8, tzinfo=UTC)
END = MORNING + timedelta(hours=4)


def played(turns: int, *, has_ended_early: bool = False) -> Inherited:
    """That many turns of an hour."""
    hours = [timedelta(hours=number) for number in range(turns + 1)]
    notes = [
        TurnNote(turn=number, began_at=MORNING, reached=MORNING + hour, checkpoint=NOWHERE)
        for number, hour in enumerate(hours)
    ]
    return Inherited(turns=notes, has_ended_early=has_ended_early)


@pytest.mark.parametrize(
    ("parts", "last"),
    [
        ([played(2), played(2)], 3),
        ([played(4), played(4)], 4),
        ([played(2), played(1)], 2),
        ([played(3), played(1, has_ended_early=True)], 4),
        ([played(3, has_ended_early=True), played(1, has_ended_early=True)], 3),
        ([played(0), played(3, has_ended_early=True)], 1),
    ],
)
def test_a_fork_begins_with_a_turn_that_no_role_skipped(parts: list[Inherited], last: int) -> None:
    assert last_of_all(parts, END) == last


def test_an_early_end_is_inherited_by_later_turns_only() -> None:
    part = played(2, has_ended_early=True)
    assert [part.before(turn).has_ended_early for turn in (1, 2, 3, 4)] == [False, False, True, True]


@pytest.mark.parametrize(
    ("asked", "cast"),
    [
        ({}, {"host": "http://h", "guest": "http://g"}),
        ({"guest": "http://x"}, {"host": "http://h", "guest": "http://x"}),
        ({"personal_assistant": "http://x"}, {"host": "http://x", "guest": "http://x"}),
        ({"host": "http://h", "carl": "http://c"}, {"host": "http://h", "guest": "http://g", "carl": "http://c"}),
    ],
)
def test_an_agent_plays_the_role_that_it_is_named_by_or_all_of_them(
    asked: dict[str, str], cast: dict[str, str]
) -> None:
    origin = Origin(
        task_id="original",
        last=1,
        parts=[Part(task_id="original--host", played=played(1)), Part(task_id="original--guest", played=played(1))],
        participants={"host": "http://h", "guest": "http://g"},
        config=AssessmentConfig(scenario_id="pair"),
        package=NOWHERE,
    )
    assert origin.cast(asked) == cast
