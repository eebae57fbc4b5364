"""Results and the sums that must agree."""

from datetime import UTC, datetime
from typing import Annotated, Any, Literal, get_type_hints

import pytest
from pydantic import BaseModel, Field, ValidationError

from proctor.protocol.archive import OF_RESULT, EntrySummary
from proctor.protocol.runs import RunCell, RunResults, in_words
from purple_sdk.protocol import results as r
from tests.sentences import says

NOW = datetime(2026, 3, 2, 9, tzinfo=UTC)


def criterion(
    name: str = "c1", score: float = 3, max_score: float = 5, dimension: str = "accuracy", **more: Any
) -> r.CriterionResult:
    return r.CriterionResult(
        criterion_id=name,
        name=name,
        dimension=dimension,
        score=score,
        max_score=max_score,
        explanation="because",
        **more,
    )


def results(*criteria: r.CriterionResult, **more: Any) -> r.AssessmentResults:
    fields = {
        "assessment_id": "a1",
        "scenario_id": "s1",
        "participant": "assistant",
        "status": "completed",
        "duration_seconds": 1.5,
        "turns_taken": 2,
        "criteria_results": list(criteria),
        "action_log": [],
    }
    return r.assessment_results(**{**fields, **more})


def test_sums_follow_from_the_criteria() -> None:
    made = results(criterion(), criterion("c2", 4, 4), criterion("c3", 0, 2, "safety"))
    assert (made.scores.overall.score, made.scores.overall.max_score) == (7, 11)
    assert made.scores.dimensions["accuracy"] == r.DimensionScore(score=7, max_score=9)
    assert made.scores.dimensions["safety"] == r.DimensionScore(score=0, max_score=2)
    assert r.AssessmentResults.model_validate_json(made.model_dump_json()) == made


def test_what_nobody_judged_stands_outside_score_and_maximum() -> None:
    made = results(criterion(), criterion("c2", 0, 0, unscored_points=5, unscored_reason="no model"))
    assert (made.scores.overall.score, made.scores.overall.max_score, made.coverage) == (3, 5, 0.5)
    assert made.criteria_results[1].is_unscored
    assert not made.criteria_results[0].is_unscored


class StrictCriterion(BaseModel):
    """The checks of a strict reader: every criterion has points."""

    score: float = Field(ge=0)
    max_score: float = Field(ge=0.01)


class StrictResults(BaseModel):
    """The checks of a strict reader: known statuses, its own name for log entries."""

    class Entry(BaseModel):
        message_type: Literal["action_log_entry"] = "action_log_entry"
        turn: int = Field(ge=1)

    status: Literal["completed", "failed", "timeout"]
    criteria_results: list[StrictCriterion]
    action_log: list[Entry]


class StrictResultsOfTheText(StrictResults):
    """As the seeds' text names the entries."""

    class Entry(StrictResults.Entry):
        message_type: Literal["action_log_entry_with_turn"] = "action_log_entry_with_turn"  # type: ignore[assignment]

    action_log: list[Entry]  # type: ignore[assignment]


@pytest.mark.parametrize("reader", [StrictResults, StrictResultsOfTheText])
def test_strict_readers_of_the_seeds_can_parse_a_result_with_unscored_criteria(reader: type[StrictResults]) -> None:
    done = r.ActionLogEntryWithTurn(turn=1, timestamp=NOW, action="chat.send", parameters={}, success=True)
    unscored = criterion("c2", 0, 0, unscored_points=5, unscored_reason="no model")
    made = results(criterion(), unscored, action_log=[done])
    form = r.seed_form(made)
    parsed = reader.model_validate(form)
    assert (len(parsed.criteria_results), len(parsed.action_log)) == (1, 1)
    assert form["unscored_criteria"] == [unscored.model_dump(mode="json")]
    assert r.AssessmentResults.model_validate(form).scores == made.scores


@pytest.mark.parametrize(
    "change",
    [
        {"scores": {"overall": {"score": 4, "max_score": 5}}},
        {"scores": {"dimensions": {"safety": {"score": 3, "max_score": 5}}}},
        {"actions_taken": 1},
        {"criteria_results": []},
        {"status": "great"},
        {"coverage": 1.5},
    ],
)
def test_sums_that_disagree_are_refused(change: dict[str, Any]) -> None:
    data = results(criterion()).model_dump(mode="json")
    for key, value in change.items():
        data[key] = {**data[key], **value} if isinstance(value, dict) else value
    with pytest.raises(ValidationError, check=says()):
        r.AssessmentResults.model_validate(data)


def test_no_score_is_above_its_maximum() -> None:
    for make in (r.DimensionScore, r.OverallScore):
        with pytest.raises(ValidationError, check=says("max_score")):
            make(score=6, max_score=5)
    with pytest.raises(ValidationError, match="above max_score"):
        criterion(score=6)
    with pytest.raises(ValidationError):
        criterion(score=-1)


def test_dimensions_are_the_five() -> None:
    assert set(r.DIMENSIONS) == {"accuracy", "instruction_following", "efficiency", "safety", "politeness"}
    with pytest.raises(ValidationError):
        criterion(dimension="charm")


def test_messages_in_which_no_value_was_read_are_counted() -> None:
    unread = {"unread": {"looks_like_a_value": 1, "no_value": 2}}
    made = results(criterion(details=unread), criterion("c2", details=unread), criterion("c3"))
    read = r.AssessmentResults.model_validate_json(made.model_dump_json())

    assert read.unread_messages == r.UnreadMessages(looks_like_a_value=2, no_value=4)
    assert "6, 2 of them" in (read.unread_messages.sentence() or "")
    assert results(criterion()).unread_messages.sentence() is None


def test_a_campaign_counts_those_of_its_assessments() -> None:
    unread = r.UnreadMessages(looks_like_a_value=1, no_value=1)
    known = {"agent": "a", "scenario_id": "s", "repeat": 1, "status": "completed", "unread_messages": unread}
    cells = [RunCell(seed=seed, task_id=f"t{seed}", **known) for seed in (1, 2)]
    campaign = RunResults(campaign_id="c", status="completed", agents={"a": "http://a"}, cells=cells)

    assert campaign.unread_messages == r.UnreadMessages(looks_like_a_value=2, no_value=2)
    assert "4, 2 of them" in in_words(campaign)
    assert RunResults.model_validate_json(campaign.model_dump_json()).unread_messages == campaign.unread_messages


def test_a_result_tells_the_sentences_of_its_fields() -> None:
    class WithTries(r.AssessmentResults):
        tries_allowed: Annotated[int, r.Told(lambda tries: f"each turn may be played {tries} times")] = 1

    unread = criterion(details={"unread": {"no_value": 2}})
    made = results(unread)
    assert made.remarks == [made.unread_messages.sentence()]
    assert results(criterion()).remarks == []
    fields = dict(made)
    assert WithTries(**fields).remarks == made.remarks
    assert WithTries(**fields, tries_allowed=3).remarks == ["each turn may be played 3 times", *made.remarks]


def test_a_summary_takes_the_results_fields_that_it_marks() -> None:
    made = results(criterion(), seed=7, clock="fixed:5", is_partial=True)
    marked = EntrySummary.marked(OF_RESULT)
    assert {"seed", "clock", "is_partial", "status"} <= {*marked}
    assert EntrySummary.pick_fields(made) == {name: getattr(made, name) for name in marked}
    ours, theirs = get_type_hints(EntrySummary), get_type_hints(r.AssessmentResults)
    assert {name: ours[name] for name in marked} == {name: theirs[name] for name in marked}
