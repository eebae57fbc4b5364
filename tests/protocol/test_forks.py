"""Where a fork comes from, and requests for forks."""

import pytest

from proctor.protocol.runs import is_run_request, parse_run_request
from purple_sdk.protocol.forks import ForkedFrom
from purple_sdk.protocol.request import BadRequestError, is_fork_request, parse_request
from tests.sentences import says

FIRST = ForkedFrom(task_id="a", turn=5)


def test_an_inherited_turn_is_known_by_who_played_it() -> None:
    again = ForkedFrom(task_id="b", turn=8, forked_from=FIRST)
    assert [again.player_of(turn) for turn in (1, 4, 5, 7, 8)] == ["a", "a", "b", "b", None]
    assert again.in_words() == says()
    earlier = ForkedFrom(task_id="b", turn=3, forked_from=FIRST)
    assert [earlier.player_of(turn) for turn in (2, 3, 4)] == ["a", None, None]
    assert earlier.inherited_in_words() == "turns 1 to 2 are inherited"


def test_a_fork_names_nobody_and_no_scenario() -> None:
    asked = parse_request({"config": {"fork_of": "a", "from_turn": 2}})
    assert (asked.participants, asked.config.scenario_id) == ({}, "")
    assert asked.config.model_fields_set == {"fork_of", "from_turn"}, "the rest is the original's"
    assert is_fork_request('{"config": {"fork_of": "a", "from_turn": 2}}')
    assert not is_run_request({"config": {"fork_of": "a", "from_turn": 2}})
    with pytest.raises(BadRequestError, check=says("config.scenario_id")):
        parse_request({"participants": {"a": "http://a"}, "config": {}})


def test_several_forks_are_a_campaign() -> None:
    every = {"config": {"fork_of": "a", "from_turns": "every", "seed": 3, "offline": True}}
    assert is_run_request(every)
    config = parse_run_request(every).config
    one = config.of_one("tiny", 3, 2)
    assert (one.fork_of, one.from_turn, one.scenario_id, one.seed, one.offline) == ("a", 2, "tiny", 3, True)
    assert parse_run_request({"config": {"fork_of": "a", "from_turn": 2, "repeats": 3}}).config.from_turns == [2]
    for wrong, field in (
        ({"fork_of": "a", "repeats": 3}, "from_turns"),
        ({"from_turns": [1], "scenarios": ["s"]}, "fork_of"),
        ({"fork_of": "a", "from_turns": [0]}, "config.from_turns"),
        ({"fork_of": "a", "from_turns": [2, 2]}, "from_turns"),
        ({"repeats": 3}, "config.scenarios"),
    ):
        with pytest.raises(BadRequestError, check=says(field)):
            parse_run_request({"participants": {"a": "http://a"}, "config": wrong})
    with pytest.raises(BadRequestError, check=says()):
        parse_run_request({"participants": {}, "config": {"scenarios": ["s"]}})
