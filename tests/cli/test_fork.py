"""What ``proctor fork`` asks for, and what ``proctor forks`` says of an archive."""

import asyncio
import re

import pytest

from proctor.cli.fork import ForkOptions, run_fork
from proctor.cli.fork_report import compare_forks
from proctor.common.errors import UsageError
from proctor.storage.archive import Archive
from purple_sdk.protocol.forks import ForkedFrom
from tests.sentences import says
from tests.storage.test_archive import entry

GATEWAY = "http://127.0.0.1:1"


def test_one_fork_is_an_assessment_and_several_are_a_campaign() -> None:
    one = ForkOptions("abc", GATEWAY, from_turn=5)
    assert one.request() == {"participants": {}, "config": {"fork_of": "abc", "from_turn": 5}}
    other = ForkOptions("abc", GATEWAY, from_turn=5, agents=("http://a:1",), seed=3, max_turns=9)
    assert other.request() == {
        "participants": {"personal_assistant": "http://a:1"},
        "config": {"fork_of": "abc", "from_turn": 5, "seed": 3, "max_turns": 9},
    }
    named = ForkOptions("abc", GATEWAY, from_turn=5, agents=("host=http://a:1",))
    assert named.request()["participants"] == {"host": "http://a:1"}
    evening = ForkOptions("abc", GATEWAY, evening=2)
    assert evening.request() == {"participants": {}, "config": {"fork_of": "abc", "from_evening": 2}}
    several = ForkOptions("abc", GATEWAY, every_turn=True, agents=("a=http://a:1", "b=http://b:1"), repeats=3, seed=3)
    assert several.request() == {
        "participants": {"a": "http://a:1", "b": "http://b:1"},
        "config": {"fork_of": "abc", "from_turns": "every", "seed": 3, "repeats": 3},
    }


@pytest.mark.parametrize(
    "options",
    [
        ForkOptions("abc", GATEWAY),
        ForkOptions("abc", GATEWAY, from_turn=2, every_turn=True),
        ForkOptions("abc", GATEWAY, from_turn=2, evening=1),
        ForkOptions("abc", GATEWAY, evening=1, repeats=2),
        ForkOptions("abc", GATEWAY, from_turn=2, repeats=2, json_file="r.json"),
        ForkOptions("abc", GATEWAY, from_turn=2, repeats=2, agents=("nonsense",)),
    ],
)
def test_what_does_not_fit_together_is_a_sentence(options: ForkOptions) -> None:
    with pytest.raises(UsageError, check=says()):
        asyncio.run(run_fork(options))


def test_the_forks_in_an_archive_say_which_turn_decided(tmp_path, capsys) -> None:
    archive = Archive(str(tmp_path))
    archive.write(entry("original", participant="mine", score=8, max_score=10), {}, {})
    with pytest.raises(UsageError, check=says()):
        compare_forks(str(tmp_path), None, "orig")
    for turn, scores in {1: (2, 8), 2: (2, 8), 3: (8, 8)}.items():
        for number, score in enumerate(scores):
            forked_from = ForkedFrom(task_id="original", turn=turn)
            fork = entry(f"{turn}-{number}", participant="mine", score=score, max_score=10, forked_from=forked_from)
            archive.write(fork, {}, {})
    failed = entry("failed", status="failed", forked_from=ForkedFrom(task_id="original", turn=1))
    archive.write(failed, {}, {})
    compare_forks(str(tmp_path), None, "orig")
    said = capsys.readouterr().out
    assert says().within(said)
    assert re.search(r"from turn 2 +2 +50.0% +1800.0 +100% +100%", said)
    assert says("100%").within(said)
