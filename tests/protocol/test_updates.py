"""The eleven task updates."""

from datetime import UTC, datetime
from typing import Any

import pytest
from pydantic import ValidationError

from proctor.protocol import updates as u
from tests.sentences import says

NOW = datetime(2026, 3, 2, 9, tzinfo=UTC)
EVERY_UPDATE: list[u.TaskUpdate] = [
    u.AssessmentStartedUpdate(assessment_id="a", scenario_id="s", participant_url="http://p", start_time=NOW),
    u.ScenarioLoadedUpdate(
        scenario_id="s",
        scenario_name="S",
        start_time=NOW,
        end_time=NOW,
        character_count=1,
        criteria_count=2,
        expected_turns=3,
        warnings=["odd"],
    ),
    u.TurnStartedUpdate(turn_number=1, current_time=NOW, events_processed=2),
    u.TurnCompletedUpdate(turn_number=1, actions_taken=1, time_advanced="PT1H"),
    u.ResponsesGeneratedUpdate(turn_number=1, responses_count=1, characters_involved=["bob"]),
    u.SimulationAdvancedUpdate(turn_number=1, previous_time=NOW, new_time=NOW, duration="PT1H", events_processed=1),
    u.EvaluationStartedUpdate(criteria_count=2, dimensions=["safety"]),
    u.CriterionEvaluatedUpdate(
        criterion_id="c", criterion_name="C", dimension="safety", score=1, max_score=2, evaluation_method="model:x"
    ),
    u.AssessmentCompletedUpdate(
        reason="scenario_complete", total_turns=1, total_actions=2, duration_seconds=1.0, overall_score=1, max_score=2
    ),
    u.ErrorOccurredUpdate(error_type="TurnTimeout", error_message="too slow", turn_number=4),
    u.ActionObservedUpdate(
        turn_number=1, timestamp=NOW, action="email.send", parameters={}, success=False, error_message="no such mail"
    ),
]


def test_there_are_eleven_each_with_a_type_of_its_own() -> None:
    assert {update.message_type for update in EVERY_UPDATE} == set(u.TaskUpdateType)
    assert len(u.TaskUpdateType) == 11


@pytest.mark.parametrize("update", EVERY_UPDATE, ids=lambda update: update.message_type)
class TestEveryUpdate:
    def test_survives_the_wire(self, update: u.TaskUpdate) -> None:
        assert u.parse_update(update.model_dump(mode="json")) == update

    def test_is_told_in_a_sentence(self, update: u.TaskUpdate) -> None:
        assert update.sentence().endswith((".", "slow"))
        assert "\n" not in update.sentence()

    def test_its_type_cannot_be_overridden(self, update: u.TaskUpdate) -> None:
        with pytest.raises(ValidationError, match="message_type"):
            type(update).model_validate({**update.model_dump(), "message_type": "update_other"})


@pytest.mark.parametrize("data", [{}, {"message_type": "update_lunch"}, {"message_type": ["x"]}])
def test_an_unknown_update_names_the_eleven(data: dict[str, Any]) -> None:
    with pytest.raises(ValueError, check=says("update_assessment_started")):
        u.parse_update(data)


def test_milestones_are_updates() -> None:
    assert set(u.TaskUpdateType) > u.MILESTONES
