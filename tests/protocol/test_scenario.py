"""The scenario schema."""

from copy import deepcopy
from datetime import timedelta
from typing import Any

import pytest
from pydantic import ValidationError

from proctor.protocol.scenario import ScenarioConfig
from purple_sdk.protocol.problems import describe
from tests.sentences import says

GOOD: dict[str, Any] = {
    "scenario_id": "s",
    "name": "S",
    "start_time": "2026-03-02T09:00:00+01:00",
    "end_time": "2026-03-02T20:30:00+01:00",
    "user_prompt": "Do.",
    "user_character": "user",
    "characters": {
        "user": {"name": "User", "email": "user@x.io", "phone": "+1 (555) 000-1"},
        "bob": {"name": "Bob", "email": "bob@x.io", "response_timing": {"base_delay": "PT10M", "variance": "PT5M"}},
    },
    "criteria": [
        {"criterion_id": "c1", "name": "C1", "dimension": "accuracy", "max_score": 3, "evaluator_id": "c1"},
        {
            "criterion_id": "c2",
            "name": "C2",
            "dimension": "safety",
            "max_score": 2,
            "evaluation_prompt": "?",
            "rubric": [{"id": "r", "points": 2, "statement": "fine", "check": {"kind": "length", "max": 9}}],
        },
    ],
    "initial_state": "initial_state.json",
}


def changed(path: str, value: Any) -> dict[str, Any]:
    data = deepcopy(GOOD)
    place: Any = data
    *steps, last = path.split("/")
    for step in steps:
        place = place[int(step)] if step.isdigit() else place[step]
    place[last] = value
    return data


def test_a_good_one() -> None:
    scenario = ScenarioConfig.model_validate(GOOD)
    assert scenario.expected_turns == 12
    assert scenario.user.name == "User"
    assert scenario.characters["bob"].response_timing.base_delay_timedelta == timedelta(minutes=10)
    assert [c.criterion_id for c in scenario.get_criteria_by_dimension("safety")] == ["c2"]
    assert [c.needs_model for c in scenario.criteria] == [False, True]
    assert ScenarioConfig.model_validate_json(scenario.model_dump_json()) == scenario
    with pytest.raises(ValidationError, match="frozen"):
        scenario.name = "other"  # type: ignore[misc]


def test_a_stored_scenario_keeps_the_reader_that_it_had() -> None:
    assert ScenarioConfig.model_validate(GOOD).reader == 1
    assert ScenarioConfig.admitted(GOOD).reader == 2
    assert ScenarioConfig.admitted({**GOOD, "reader": 1}).reader == 1
    assert ScenarioConfig.model_validate(ScenarioConfig.admitted(GOOD).model_dump(mode="json")).reader == 2


@pytest.mark.parametrize(
    ("path", "value", "place"),
    [
        ("start_time", "2026-03-02T09:00:00", "start_time"),
        ("end_time", "2026-03-02T09:00:00+01:00", "end_time"),
        ("default_time_step", "PT0S", "default_time_step"),
        ("default_time_step", "1h", "default_time_step"),
        ("characters/bob/email", "USER@x.io", "user@x.io"),
        ("characters/bob/phone", "+15550001", "+15550001"),
        ("characters/bob/response_timing", {"base_delay": "-PT1M"}, "base_delay"),
        ("characters/bob/scripted_replies", [{"pattern": "("}], "pattern"),
        ("user_character", "alice", "user_character"),
        ("criteria/1/criterion_id", "c1", "criterion_id"),
        ("criteria/0/evaluator_id", None, "evaluator_id"),
        ("criteria/0/dimension", "charm", "criteria[0].dimension"),
        ("criteria/1/max_score", 5, "max_score"),
        ("criteria/1/rubric/0/check/kind", "pattern_found", "pattern"),
        ("criteria/1/rubric/0/check/min", 10, "min"),
        ("criteria", [], "criteria"),
        ("scenario_id", "../evil", "scenario_id"),
    ],
)
def test_a_broken_one_says_where(path: str, value: Any, place: str) -> None:
    with pytest.raises(ValidationError) as caught:
        ScenarioConfig.model_validate(changed(path, value))
    assert describe(caught.value) == says(place)


def test_a_criterion_of_the_seed_s_name_is_found_too() -> None:
    data = deepcopy(GOOD)
    data["evaluation_criteria"] = data.pop("criteria")
    assert len(ScenarioConfig.model_validate(data).criteria) == 2


def side(user: str, criterion_id: str, **more: Any) -> dict[str, Any]:
    criterion = {
        "criterion_id": criterion_id,
        "name": "C",
        "dimension": "accuracy",
        "max_score": 5,
        "evaluator_id": "c",
    }
    return {"user_character": user, "user_prompt": f"For {user}.", "criteria": [criterion], **more}


def in_roles(**roles: Any) -> dict[str, Any]:
    return {**GOOD, "roles": roles}


def test_each_role_is_a_whole_scenario_and_the_first_one_is_the_documents_own() -> None:
    scenario = ScenarioConfig.model_validate(in_roles(host=side("user", "c1"), guest=side("bob", "c2", max_turns=3)))
    host, guest = scenario.roles.values()
    assert (scenario.user.name, host.user.name, guest.user.name) == ("User", "User", "Bob")
    assert (guest.name, guest.expected_turns, guest.max_turns, host.max_turns) == ("S", 12, 3, None)
    assert [criterion.criterion_id for criterion in guest.criteria] == ["c2"]
    assert (host.colleagues, guest.colleagues) == ({"guest": "bob"}, {"host": "user"})
    assert ScenarioConfig.model_validate_json(scenario.model_dump_json()) == scenario


@pytest.mark.parametrize(
    "roles",
    [
        {"host": side("user", "c1")},
        {"Host": side("user", "c1"), "guest": side("bob", "c2")},
        {"host": side("user", "c1"), "guest": side("bob", "c1")},
        {"host": side("user", "c1"), "guest": side("user", "c2")},
        {"host": side("user", "c1"), "guest": side("bob", "c2", end_time="2026-03-03T00:00:00+01:00")},
        {
            "host": side("user", "c1"),
            "guest": {**side("bob", "c2"), "characters": {"bob": GOOD["characters"]["bob"]}},
        },
        {"host": side("user", "c0"), "guest": {**side("bob", "c2"), "criteria": GOOD["criteria"][:1]}},
        {f"r{number}": side("user", f"c{number}") for number in range(9)},
    ],
)
def test_roles_that_can_not_be_played_together_are_refused(roles: dict[str, Any]) -> None:
    with pytest.raises(ValidationError) as refused:
        ScenarioConfig.model_validate(in_roles(**roles))
    assert says().within(describe(refused.value))
