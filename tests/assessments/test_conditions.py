"""A clock that runs and noise, as a caller asks for them: what a turn costs, what is archived, forked and refused."""

import asyncio
import itertools
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import aclosing
from datetime import datetime, timedelta
from typing import Any

import pytest
import pytest_asyncio
from temporalio.exceptions import ApplicationError

from proctor.activities.admission.activities import AdmissionActivities
from proctor.activities.admission.payloads import AdmitInput
from proctor.activities.plan import Plan
from proctor.activities.scenario_code.scenarios import Scenarios
from proctor.settings.config import GreenAgentConfig
from proctor.storage.archive import Archive
from proctor.storage.blobs import BlobStore
from purple_sdk.protocol.request import BadRequestError, parse_request
from purple_sdk.protocol.results import AssessmentResults
from purple_sdk.ues import UESError
from tests.assessments.packages import write_package
from tests.assessments.scripts import ask_ben
from tests.assessments.test_forks import fork, results_of
from tests.sentences import says
from tests.stack import Stack, play, request_json, serving
from tests.work import some_of

NINE = datetime.fromisoformat("2026-03-02T09:00:00+00:00")
CONDITIONS = {"clock": "fixed:1500", "noise": 2, "max_turns": 2, "seed": 11}


class Slow:
    """Asks Ben after two requests, and reads Ben's answer; ``met`` is what its requests came to, by turn."""

    def __init__(self) -> None:
        self.met: dict[int, list[str]] = {}

    async def __call__(self, turn: int, ues: Any, now: datetime) -> None:
        met = self.met.setdefault(turn, [str(now)])
        for ask in (ues.time.get_state, ues.email.query, lambda: ask_ben(ues), ues.email.query):
            try:
                answer = await ask() or {}
                met.append(str(len(answer["emails"])) if "emails" in answer else "done")
            except UESError as error:
                met.append(str(error.status_code) if hasattr(error, "status_code") else type(error).__name__)


def _what(results: AssessmentResults) -> list[Any]:
    return [(entry.turn, entry.timestamp, entry.action, entry.success) for entry in results.action_log]


async def test_a_turn_that_spends_more_than_its_length_ends_later(stack: Stack) -> None:
    first = Slow()
    results = await play(stack, "tiny", first, **CONDITIONS)
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
        forked = results_of(await fork(stack, results.assessment_id, 1, url))
    assert (forked.clock, forked.noise) == ("fixed:1500", 2)
    assert _what(forked) == _what(results)
    assert other.met == first.met, "the same requests lead to the same day"


def _noisy(scenario: dict[str, Any]) -> None:
    scenario["noise"] = 2


Admit = Callable[..., Awaitable[Plan]]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def admit(quick_fork_servers: None, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Admit]:
    """Admits requests for ``tiny`` and for ``noisy``, which has noise 2; given are settings and the request."""
    folder = tmp_path_factory.mktemp("conditions")
    for name in ("noisy", "tiny"):
        write_package(folder / "scenarios", name, change=_noisy if name == "noisy" else None)
    config = GreenAgentConfig(secret="s" * 32, storage_url=str(folder), scenarios_dir=str(folder / "scenarios"))
    store = BlobStore(config.storage_url)
    async with aclosing(Scenarios(config, store)) as scenarios:

        async def admitted(request: str, **settings: Any) -> Plan:
            activities = AdmissionActivities(config.model_copy(update=settings), store, scenarios)
            return await activities.admit(AdmitInput(task_id="1", request=request))

        yield admitted


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("field", some_of(["clock", "noise"], 1))
async def test_a_server_of_its_own_can_have_neither(admit: Admit, field: str) -> None:
    request = request_json("http://nobody", "tiny", **{field: CONDITIONS[field]})
    with pytest.raises(ApplicationError, match=rf"config\.{field} is .*AGENTBEATS_GREEN_UES_COMMAND"):
        await admit(request, ues_command="ues {port}")


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize(("asked", "played"), some_of([(1, 2), (None, 2), (3, 3)], 2))
async def test_the_greater_of_the_requests_and_the_scenarios_noise_counts(
    admit: Admit, asked: int | None, played: int
) -> None:
    request = request_json("http://nobody", "noisy", **({"noise": asked} if asked else {}))
    assert (await admit(request)).noise == played
    with pytest.raises(ApplicationError, check=says("AGENTBEATS_GREEN_UES_COMMAND")):
        await admit(request_json("http://nobody", "noisy"), ues_command="ues {port}")


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

    results = await play(stack, "tiny", thinks, clock="measured:100", max_turns=2)
    archive = Archive(stack.config.archive_url)
    entry = archive.get(results.assessment_id)
    assert entry is not None
    played = archive.turns(entry)
    for turn in played:
        began_at, read_at = now[turn.turn]
        assert began_at == turn.began_at
        [move] = turn.moves
        assert read_at == began_at + timedelta(seconds=move)
        assert move >= 30
    assert played[1].began_at == played[0].reached
