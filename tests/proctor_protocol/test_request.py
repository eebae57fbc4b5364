"""The request that starts an assessment."""

import json

import pytest

from proctor_protocol.request import BadRequestError, parse_request, unknown_settings

GOOD = {"participants": {"personal_assistant": "http://agent:8001"}, "config": {"scenario_id": "s"}}


def config(**more):
    return {**GOOD, "config": {"scenario_id": "s", **more}}


def people(**roles):
    return {**GOOD, "participants": roles}


def test_comes_as_data_or_as_json_text():
    assert parse_request(GOOD) == parse_request(json.dumps(GOOD))
    assert parse_request(config(seed=12345.0)).config.seed == 12345


@pytest.mark.parametrize(
    ("roles", "expected"),
    [
        ({"personal_assistant": "http://a", "assistant": "http://b", "x": "http://c"}, "personal_assistant"),
        ({"assistant": "http://b", "x": "http://c"}, "assistant"),
        ({"white_agent": "http://c"}, "white_agent"),
    ],
)
def test_the_participant_is_found_among_the_roles(roles, expected):
    assert parse_request(people(**roles)).participant == (expected, roles[expected])


@pytest.mark.parametrize(
    ("request_", "sentence"),
    [
        (None, "The message has no request: send"),
        ("  ", "The message has no request: send"),
        ("{", "The message's text is not JSON"),
        ("[1]", r"The request is \[1\]: send an object"),
        ({}, "participants is missing: add it; config is missing: add it"),
        (people(), "participants is empty: name the agent"),
        (people(a="http://a", b="http://b"), r"several roles \(a, b\): name the one to assess personal_assistant"),
        (people(a="nonsense"), 'participants.a is "nonsense": give the agent\'s address, such as http'),
        (people(a="ftp://x"), "participants.a"),
        (people(a="http://x:99999"), "participants.a"),
        (people(a="http://x y"), "participants.a"),
        ({**GOOD, "config": {}}, "config.scenario_id is missing"),
        (config(max_turns=0), "config.max_turns is 0: input should be greater than or equal to 1"),
        (config(max_turns="many"), 'config.max_turns is "many"'),
        (config(seed=2**64), "config.seed"),
        (config(turn_timeout=-1), "config.turn_timeout is -1"),
        (config(offline="perhaps"), 'config.offline is "perhaps"'),
    ],
)
def test_a_bad_request_is_told_in_a_sentence(request_, sentence):
    with pytest.raises(BadRequestError, match=sentence):
        parse_request(request_)


def test_deep_nesting_is_no_crash():
    with pytest.raises(BadRequestError):
        parse_request("[" * 100_000)


def test_misspelt_settings_are_found():
    assert unknown_settings(config(max_turn=3)) == ["max_turn"]
    assert unknown_settings(json.dumps(config())) == []
