"""A clock that runs and noise, as a caller asks for them: what a turn costs, what is archived, forked and refused."""

import asyncio
import itertools
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from temporalio.exceptions import ApplicationError

from activities.admission.activities import AdmissionActivities
from activities.admission.payloads import AdmitInput
from activities.scenario_code.scenarios import Scenarios
from proctor_protocol.request import BadRequestError, parse_request
from proctor_protocol.results import AssessmentResults
from proctor_settings.config import GreenAgentConfig
from proctor_storage.archive import Archive
from proctor_storage.blobs import BlobStore
from purple_sdk.ues import UESError
from tests.assessments.packages import TINY, write_package
from tests.assessments.scripts import ask_ben
from tests.assessments.test_forks import fork, results_of
from tests.stack import Stack, play, request_json, serving
from tests.work import some_of

NINE = datetime.fromisoformat("2026-03-02T09:00:00+00:00")
CONDITIONS = {"clock": "fixed:1500", "noise": 2, "max_turns": 3, "seed": 11}


class Slow:
    """Asks Ben after two requests, and reads Ben's answer; ``met`` is what its requests came to, by turn."""

    def __init__(self) -> None:
        self.met: dict[int, list[str]] = {}

    async def __call__(self, turn: int, ues: Any, now: datetime) -> None:
        met = self.met.setdefault(turn, [str(now)])
        for ask in (ues.time.get_state, ues.email.query, lambda: ask_ben(ues), ues.email.query):
            try:
                answer = await ask()
                met.append(str(len(answer["emails"])) if "emails" in (answer or {}) else "done")
            except UESError as problem:
                met.append(str(problem.status_code) if hasattr(problem, "status_code") else type(problem).__name__)


def _what(results: AssessmentResults) -> list[Any]:
    return [(entry.turn, entry.timestamp, entry.action, entry.success) for entry in results.action_log]


async def test_a_turn_that_spends_more_than_its_length_ends_later(stack: Stack) -> None:
    first, again = Slow(), Slow()
    results = await play(stack, "tiny", first, **CONDITIONS)
    assert _what(results) == _what(await play(stack, "tiny", again, **CONDITIONS))
    assert first.met == again.met
    starts = [datetime.fromisoformat(met[0]) for _, met in sorted(first.met.items())]
    assert starts[0] == NINE
    assert all(later - start >= timedelta(seconds=4 * 1500) for start, later in itertools.pairwise(starts))
    assert all(entry.timestamp > NINE for entry in results.action_log)

    assert results.day == "tiny · clock fixed:1500 · noise 2"
    archive = Archive(stack.config.archive_url)
    entry = archive.get(results.assessment_id)
    assert entry is not None
    assert (entry.clock, entry.noise, entry.day) == ("fixed:1500", 2, results.day)
    played = archive.turns(entry)
    assert [turn.began_at for turn in played] == starts
    assert any(turn.noise for turn in played)

    other = Slow()
    async with serving(other) as url:
        forked = results_of(await fork(stack, results.assessment_id, 2, url))
    assert (forked.clock, forked.noise) == ("fixed:1500", 2)
    assert _what(forked) == _what(results)
    assert other.met == {turn: met for turn, met in first.met.items() if turn > 1}


@pytest.mark.parametrize("field", some_of(["clock", "noise"], 1))
async def test_a_server_of_its_own_can_have_neither(tmp_path: Any, field: str) -> None:
    settings = GreenAgentConfig(
        secret="s" * 32, ues_command="ues {port}", storage_url=str(tmp_path), scenarios_dir=str(TINY.parent)
    )
    store = BlobStore(str(tmp_path))
    scenarios = Scenarios(settings, store)
    try:
        request = request_json("http://nobody", "tiny", **{field: CONDITIONS[field]})
        with pytest.raises(ApplicationError, match=rf"config\.{field} is .*AGENTBEATS_GREEN_UES_COMMAND"):
            await AdmissionActivities(settings, store, scenarios).admit(AdmitInput(task_id="1", request=request))
    finally:
        await scenarios.aclose()


def _noisy(scenario: dict[str, Any]) -> None:
    scenario["noise"] = 2


@pytest.mark.parametrize(("asked", "played"), some_of([(1, 2), (None, 2), (3, 3)], 2))
async def test_the_greater_of_the_requests_and_the_scenarios_noise_counts(
    tmp_path: Path, asked: int | None, played: int
) -> None:
    write_package(tmp_path / "scenarios", "noisy", change=_noisy)
    settings = GreenAgentConfig(
        secret="s" * 32, storage_url=str(tmp_path / "store"), scenarios_dir=str(tmp_path / "scenarios")
    )
    store = BlobStore(settings.storage_url)
    scenarios = Scenarios(settings, store)
    try:
        request = request_json("http://nobody", "noisy", offline=True, **({"noise": asked} if asked else {}))
        plan = await AdmissionActivities(settings, store, scenarios).admit(AdmitInput(task_id="1", request=request))
        assert plan.noise == played
        own = settings.model_copy(update={"ues_command": "ues {port}"})
        quiet = request_json("http://nobody", "noisy", offline=True)
        with pytest.raises(ApplicationError, match=r"noisy has noise 2.*AGENTBEATS_GREEN_UES_COMMAND"):
            await AdmissionActivities(own, store, scenarios).admit(AdmitInput(task_id="1", request=quiet))
    finally:
        await scenarios.aclose()


@pytest.mark.parametrize(
    "clock", ["measured:0", "measured:x", "fixed", "fixed:0", "fixed:4000", "fixed:-1", "fixed:1e3", "fast", ""]
)
def test_a_clock_that_there_is_not_is_named_with_those_that_there_are(clock: str) -> None:
    with pytest.raises(BadRequestError, match=r"config\.clock.*fixed:SECONDS"):
        parse_request(request_json("http://nobody", "tiny", clock=clock))


async def test_measured_time_passes_as_the_participant_takes_it(stack: Stack) -> None:
    now: dict[int, list[datetime]] = {}

    async def thinks(turn: int, ues: Any, start: datetime) -> None:
        await asyncio.sleep(0.3)
        now[turn] = [start, (await ues.time.get_state()).current_time]

    results = await play(stack, "tiny", thinks, clock="measured:10000", max_turns=2)
    archive = Archive(stack.config.archive_url)
    entry = archive.get(results.assessment_id)
    assert entry is not None
    played = archive.turns(entry)
    for turn in played:
        began_at, read_at = now[turn.turn]
        assert began_at == turn.began_at
        [move] = turn.moves
        assert read_at == began_at + timedelta(seconds=move)
        assert move >= 2_000
    assert played[1].began_at == played[0].reached
