"""What ``proctor run`` plays, from flags and from files; what is wrong is told with flag or file and remedy."""

from pathlib import Path

import pytest

from proctor.client.run_settings import as_toml, checked, parse_agents, parse_seeds, read_campaign
from proctor.common.errors import UsageError
from tests.sentences import says

AGENTS = {"my agent": "http://localhost:8001"}


def test_seeds_are_numbers_and_ranges() -> None:
    assert parse_seeds("1-3, 9,20-20") == [1, 2, 3, 9, 20]
    assert parse_seeds("-3,-2-1") == [-3, -2, -1, 0, 1]


def test_difficulties_are_numbers_of_another_flag() -> None:
    assert parse_seeds("1-4", "--difficulty") == [1, 2, 3, 4]
    with pytest.raises(UsageError, check=says("--difficulty")):
        parse_seeds("hard", "--difficulty")
    request = {"participants": AGENTS, "config": {"scenarios": ["clear_the_day"], "difficulties": [1, 5]}}
    with pytest.raises(UsageError, check=says("config.difficulties")):
        checked(request, "proctor run")
    request["config"] = {"scenarios": ["clear_the_day"], "difficulty": 3}
    asked = checked(request, "proctor run")
    assert asked.config.difficulties == [3]
    assert "difficulties = [3]" in as_toml(asked)


@pytest.mark.parametrize("words", ["", ",", "one", "1-", "5-1", "1-1000000"])
def test_seeds_that_are_none(words: str) -> None:
    with pytest.raises(UsageError, match="--seeds"):
        parse_seeds(words)


def test_agents_have_names() -> None:
    assert parse_agents(["mine=http://localhost:8001/?a=b", "http://localhost:8002/?c=d"]) == {
        "mine": "http://localhost:8001/?a=b",
        "agent": "http://localhost:8002/?c=d",
    }
    with pytest.raises(UsageError, check=says("--agent")):
        parse_agents(["mine=http://localhost:8001", "mine=http://localhost:8002"])


def test_a_file_says_the_same_as_the_request_it_was_made_of(tmp_path: Path) -> None:
    config = {"scenarios": ["day"], "seeds": [3, 1], "repeats": 2, "max_cost": 1.5, "judges": ["a/b"], "offline": True}
    request = checked({"participants": AGENTS, "config": config}, "proctor run")
    (tmp_path / "campaign.toml").write_text(as_toml(request))
    assert checked(read_campaign(str(tmp_path / "campaign.toml")), "campaign.toml") == request


@pytest.mark.parametrize(
    "text",
    [
        "scenarios = [",
        'scenarios = ["day"]\n',
        'scenarios = ["day"]\nrepeat = 2\n[agents]\na = "http://a"',
        '[agents]\na = "http://a"',
        'scenarios = ["day"]\n[agents]\na = "nowhere"',
        'scenarios = ["day"]\nagents = "http://a"',
    ],
)
def test_a_file_that_is_none(tmp_path: Path, text: str) -> None:
    path = tmp_path / "campaign.toml"
    path.write_text(text)
    with pytest.raises(UsageError, check=says()) as problem:
        checked(read_campaign(str(path)), str(path))
    assert str(path) in str(problem.value)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(UsageError, check=says("none.toml")):
        read_campaign(str(tmp_path / "none.toml"))
