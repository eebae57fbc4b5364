"""A fork from an evening begins with the first turn of the next day."""

from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest

from proctor.activities.admission.origins import Origin, Part
from proctor.activities.admission.payloads import Inherited
from proctor.activities.archive.payloads import TurnNote
from proctor.storage.blobs import BlobRef
from purple_sdk.protocol.request import AssessmentConfig, BadRequestError, parse_request
from tests.sentences import says

NOWHERE = BlobRef(sha256="0" * 64, size=0)
MONDAY = datetime(2026, 3, 2, 8, tzinfo=UTC)
HOURS = [0, 4, 8, 24, 28, 32, 48]
"""When turns begin, and when the last one ends."""


def origin(*, last: int = 7) -> Origin:
    notes = [TurnNote(turn=0, began_at=MONDAY, reached=MONDAY, checkpoint=NOWHERE)]
    for turn, (began, reached) in enumerate(pairwise(HOURS), 1):
        at, until = MONDAY + timedelta(hours=began), MONDAY + timedelta(hours=reached)
        notes.append(TurnNote(turn=turn, began_at=at, reached=until, checkpoint=NOWHERE))
    return Origin(
        task_id="original",
        last=last,
        parts=[Part(task_id="original", played=Inherited(turns=notes))],
        participants={"personal_assistant": "http://a:1"},
        config=AssessmentConfig(scenario_id="promises"),
        package=NOWHERE,
    )


def test_a_fork_from_an_evening_begins_on_the_next_morning() -> None:
    def first(day: int) -> int:
        return origin().first_turn(AssessmentConfig(fork_of="original", from_evening=day))

    assert [first(1), first(2)] == [4, 7]
    assert origin().first_turn(AssessmentConfig(fork_of="original", from_turn=5)) == 5


@pytest.mark.parametrize(
    ("last", "day"),
    [
        (7, 3),
        (6, 2),
        (2, 1),
    ],
)
def test_an_evening_that_was_not_played_is_refused(last: int, day: int) -> None:
    with pytest.raises(BadRequestError) as refused:
        origin(last=last).first_turn(AssessmentConfig(fork_of="original", from_evening=day))
    assert str(refused.value) == says()


def test_a_request_names_a_turn_or_an_evening() -> None:
    with pytest.raises(BadRequestError, check=says("from_turn", "from_evening")):
        parse_request('{"config": {"fork_of": "a", "from_turn": 2, "from_evening": 1}}')
