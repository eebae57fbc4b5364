"""The id of an assessment says scenario and participant; what a participant sees has only its unique part."""

from typing import Any

import pytest

from proctor.protocol.roles import name_of_role
from proctor.protocol.task_ids import readable_id, unique_part

UNIQUE = "36ac1e2d-a0cb-4f40-be72-9b8daa6a2892"


def asked(scenario: Any, **participants: Any) -> dict[str, Any]:
    return {"participants": participants, "config": {"scenario_id": scenario}}


BROKEN: list[object] = [None, "Hello", {}, {"config": []}, asked("day"), asked([], a={})]


@pytest.mark.parametrize(
    ("request_", "behind"),
    [
        (asked("email_triage_basic", assistant="http://127.0.0.1:9009"), "-email_triage_basic-127-0-0-1-9009"),
        (asked("day", b="http://b.example", a="https://a.example/agents/x/"), "-day-a-example-agents-x"),
        (asked("day", a="http://user:secret@a.example/?token=secret#secret"), "-day-a-example"),
        (asked("../../--Ä--\n<b>", a="http://[::1]:8001"), "-b-1-8001"),
        (asked("x" * 9_000, a="http://" + "y" * 9_000), f"-{'x' * 40}-{'y' * 40}"),
        ('Assess it: {"participants": {"a": "http://a"}, "config": {"scenario_id": "day"}}', "-day-a"),
        (asked("day", a="http://[x"), "-day"),
        (asked(None, a=None), ""),
        *[(broken, "") for broken in BROKEN],
        ({"participants": ["http://a"], "config": {"scenario_id": "day"}}, ""),
    ],
)
def test_an_id_says_scenario_and_participant(request_: Any, behind: str) -> None:
    task_id = readable_id(UNIQUE, request_)
    assert task_id == UNIQUE + behind
    assert unique_part(task_id) == UNIQUE
    assert unique_part(name_of_role(task_id, "assistant")) == name_of_role(UNIQUE, "assistant")


@pytest.mark.parametrize("task_id", [UNIQUE, name_of_role(UNIQUE, "assistant"), "an-id-of-before", "t"])
def test_other_ids_stay(task_id: str) -> None:
    assert unique_part(task_id) == task_id
