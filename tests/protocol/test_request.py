"""The request that starts an assessment."""

import json
from typing import Any

import pytest

from purple_sdk.protocol.request import BadRequestError, parse_request, unknown_settings
from tests.sentences import says

GOOD = {"participants": {"personal_assistant": "http://agent:8001"}, "config": {"scenario_id": "s"}}


def config(**more: Any) -> dict[str, Any]:
    return {**GOOD, "config": {"scenario_id": "s", **more}}


def people(**roles: str) -> dict[str, Any]:
    return {**GOOD, "participants": roles}


def test_comes_as_data_or_as_json_text() -> None:
    assert parse_request(GOOD) == parse_request(json.dumps(GOOD))
    assert parse_request(config(seed=12345.0)).config.seed == 12345


JSON = json.dumps(GOOD)


@pytest.mark.parametrize(
    "text",
    [
        f"```json\n{json.dumps(GOOD, indent=2)}\n```",
        f"```\n{JSON}\n```",
        f"Please assess this agent: {JSON} Don't be late, it's {{urgent}}.",
        f"Some say \"hello {{\n```json\n{JSON}\n```\nand that's it }}",
        f"{JSON}\n\nOnce more, the same:\n```json\n{json.dumps(GOOD, indent=2)}\n```",
        json.dumps(config(note='a "brace" } and ``` in a text')) + " please",
    ],
)
def test_the_one_object_in_a_text_is_the_request(text: str) -> None:
    assert parse_request(text) == parse_request(GOOD)
    assert unknown_settings(text) in ([], ["note"])


@pytest.mark.parametrize(
    "text",
    [
        f"{JSON} or rather {json.dumps(config(seed=1))}",
        f"{{}} {JSON}",
        f"Assess this: {JSON[:-1]},}}",
        f"Assess this: {JSON[:-1]}",
        f"{{'participants': 1}} {JSON[:-1]},}}",
        f'{JSON} and {{"half": }}',
        "{x} " * 101 + JSON,
    ],
)
def test_a_text_that_could_mean_several_things_is_refused(text: str) -> None:
    with pytest.raises(BadRequestError, check=says()):
        parse_request(text)


@pytest.mark.parametrize(
    "text",
    ['{"a":' * 200_000, "{" + '"\\' * 500_000, '{"' * 500_000, '{"a":1}' * 140_000, "```" * 300_000, "{" * 10**6],
)
def test_no_text_takes_long_to_read(text: str) -> None:
    """With quadratic reading each of these would be at it until the test's own time limit."""
    with pytest.raises(BadRequestError):
        parse_request(text)


@pytest.mark.parametrize(
    ("roles", "expected"),
    [
        ({"personal_assistant": "http://a", "assistant": "http://b", "x": "http://c"}, "personal_assistant"),
        ({"assistant": "http://b", "x": "http://c"}, "assistant"),
        ({"white_agent": "http://c"}, "white_agent"),
    ],
)
def test_the_participant_is_found_among_the_roles(roles: dict[str, Any], expected: str) -> None:
    assert parse_request(people(**roles)).require_participant() == (expected, roles[expected])


def test_one_of_several_participants_has_to_be_named() -> None:
    with pytest.raises(BadRequestError, check=says("(a, b)", "personal_assistant")):
        parse_request(people(a="http://a", b="http://b")).require_participant()


def test_several_participants_are_those_of_the_scenarios_roles_in_their_order() -> None:
    asked = parse_request(people(b="http://same", a="http://same"))
    assert list(asked.require_roles(["a", "b"]).items()) == [("a", "http://same"), ("b", "http://same")]
    with pytest.raises(BadRequestError, check=says("participants.c")):
        asked.require_roles(["a", "b", "c"])
    with pytest.raises(BadRequestError, check=says("b")):
        asked.require_roles(["a"])


@pytest.mark.parametrize(
    "request_",
    [
        None,
        "  ",
        "{",
        "[1]",
        {},
        people(),
        people(a="nonsense"),
        people(a="ftp://x"),
        people(a="http://x:99999"),
        people(a="http://x y"),
        {**GOOD, "config": {}},
        config(max_turns=0),
        config(max_turns="many"),
        config(seed=2**64),
        config(turn_timeout=-1),
        config(offline="perhaps"),
    ],
)
def test_a_bad_request_is_told_in_a_sentence(request_: dict[str, Any] | str | None) -> None:
    with pytest.raises(BadRequestError, check=says()):
        parse_request(request_)


def test_deep_nesting_is_no_crash() -> None:
    with pytest.raises(BadRequestError):
        parse_request("[" * 100_000)


def test_misspelt_settings_are_found() -> None:
    assert unknown_settings(config(max_turn=3)) == ["max_turn"]
    assert unknown_settings(json.dumps(config())) == []


@pytest.mark.parametrize(
    "address",
    [
        "http://anna:pass@agent:8001",
        "http://anna@agent:8001",
        "https://agent/a2a?api_key=s3cret",
        "https://agent/a2a?x=1&Access-Token=s3cret",
    ],
)
def test_credentials_in_an_address_are_refused_and_not_quoted(address: str) -> None:
    with pytest.raises(BadRequestError, check=says("participants.personal_assistant")) as refused:
        parse_request(people(personal_assistant=address))
    assert "s3cret" not in str(refused.value)
    assert "pass@" not in str(refused.value)


def test_a_query_without_credentials_is_an_address() -> None:
    assert parse_request(people(personal_assistant="https://agent/a2a?tenant=a")).participants
