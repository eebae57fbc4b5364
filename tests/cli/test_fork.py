"""What ``proctor fork`` asks for, and what ``proctor forks`` says of an archive."""

import asyncio
import json
import re
from pathlib import Path
from typing import Any

import pytest

from proctor.cli.assessments import AssessOptions
from proctor.client.caller import AssessmentCall
from proctor.client.run_settings import checked
from proctor.common.errors import UsageError
from proctor.protocol.runs import RunRequest
from proctor.storage.archive import Archive
from purple_sdk.protocol.forks import ForkedFrom
from tests.cli.commands import run_proctor
from tests.sentences import says
from tests.storage.test_archive import entry

GATEWAY = "http://127.0.0.1:1"


def requested(monkeypatch: pytest.MonkeyPatch, *flags: str) -> Any:
    """What ``proctor fork`` sends, instead of sending it."""
    sent: list[Any] = []

    async def follow(_shown: AssessOptions, _interrupted: asyncio.Event, call: AssessmentCall) -> None:
        sent.append(json.loads(call._message.parts[0].text))

    async def run_campaign(request: RunRequest, *_: object, **_more: object) -> None:
        sent.append(request)

    monkeypatch.setattr("proctor.cli.assessments.follow", follow)
    monkeypatch.setattr("proctor.cli.campaign_runs.run_campaign", run_campaign)
    run_proctor("fork", "abc", "--gateway", GATEWAY, *flags)
    (request,) = sent
    return request


def test_one_fork_is_an_assessment_and_several_are_a_campaign(monkeypatch: pytest.MonkeyPatch) -> None:
    one = requested(monkeypatch, "--from-turn", "5")
    assert one == {"participants": {}, "config": {"fork_of": "abc", "from_turn": 5}}
    other = requested(monkeypatch, "--from-turn", "5", "--agent", "http://a:1", "--seed", "3", "--max-turns", "9")
    assert other == {
        "participants": {"personal_assistant": "http://a:1"},
        "config": {"fork_of": "abc", "from_turn": 5, "seed": 3, "max_turns": 9},
    }
    named = requested(monkeypatch, "--from-turn", "5", "--agent", "host=http://a:1")
    assert named["participants"] == {"host": "http://a:1"}
    evening = requested(monkeypatch, "--evening", "2")
    assert evening == {"participants": {}, "config": {"fork_of": "abc", "from_evening": 2}}
    agents = ("--agent", "a=http://a:1", "--agent", "b=http://b:1")
    several = requested(monkeypatch, "--every-turn", *agents, "--repeats", "3", "--seed", "3")
    config = {"fork_of": "abc", "from_turns": "every", "seed": 3, "repeats": 3}
    participants = {"a": "http://a:1", "b": "http://b:1"}
    assert several == checked({"participants": participants, "config": config}, "proctor fork")


@pytest.mark.parametrize(
    "flags",
    [
        "",
        "--from-turn 2 --every-turn",
        "--from-turn 2 --evening 1",
        "--evening 1 --repeats 2",
        "--from-turn 2 --repeats 2 --json r.json",
        "--from-turn 2 --repeats 2 --agent nonsense",
    ],
)
def test_what_does_not_fit_together_is_a_sentence(flags: str) -> None:
    with pytest.raises(UsageError, check=says()):
        run_proctor("fork", "abc", "--gateway", GATEWAY, *flags.split())


def test_the_forks_in_an_archive_say_which_turn_decided(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    archive = Archive(str(tmp_path))
    archive.write(entry("original", participant="mine", score=8, max_score=10), {}, {})
    with pytest.raises(UsageError, check=says()):
        run_proctor("forks", "orig", "--archive", str(tmp_path))
    for turn, scores in {1: (2, 8), 2: (2, 8), 3: (8, 8)}.items():
        for number, score in enumerate(scores):
            forked_from = ForkedFrom(task_id="original", turn=turn)
            fork = entry(f"{turn}-{number}", participant="mine", score=score, max_score=10, forked_from=forked_from)
            archive.write(fork, {}, {})
    failed = entry("failed", status="failed", forked_from=ForkedFrom(task_id="original", turn=1))
    archive.write(failed, {}, {})
    run_proctor("forks", "orig", "--archive", str(tmp_path))
    said = capsys.readouterr().out
    assert says().within(said)
    assert re.search(r"from turn 2 +2 +50.0% +1800.0 +100% +100%", said)
    assert says("100%").within(said)
