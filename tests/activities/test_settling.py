"""The end of a turn, with the simulation in hand: however often it is begun again, it comes to the same."""

import itertools
import json
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest

from proctor.activities.scenario_code.initial_states import at_time
from proctor.activities.simulation.hosts import Conditions, SimulationGoneError
from proctor.activities.simulation.keys import host_key
from proctor.activities.simulation.payloads import TURN_SETTLES, TurnApplied
from proctor.activities.simulation.shared_host import SharedHost
from proctor.activities.simulation.simulations import Simulations
from proctor.activities.simulation.turns import Settling
from proctor.protocol.scenario import ScenarioConfig
from proctor.settings.config import GreenAgentConfig
from proctor.storage.blobs import BlobRef, BlobStore
from purple_sdk.ues import AsyncUESClient, ConflictError, OvertakenError
from tests.activities.attempts import attempt
from tests.assessments.packages import TINY
from tests.assessments.scripts import ask_ben
from tests.programs import serving
from tests.sentences import says

SECRET = "s" * 32
START = datetime.fromisoformat("2026-03-02T09:00:00+00:00")
SCENARIO = ScenarioConfig.model_validate_json((TINY / "scenario.json").read_bytes())
_names = itertools.count(1)


class DiedError(Exception):
    """The worker dies here."""


@pytest.fixture(scope="module")
def simulator() -> Iterator[str]:
    with serving("proctor.ues", "--port", "0", UES_HOST_KEY=host_key(SECRET)) as (address, _):
        yield address


@pytest.fixture
async def simulations(simulator: str, tmp_path: Path) -> AsyncIterator[Simulations]:
    store = BlobStore(str(tmp_path))
    async with httpx.AsyncClient() as http:
        yield Simulations(SharedHost(GreenAgentConfig(secret=SECRET, ues_url=simulator), http, store), store)


@dataclass
class Turn:
    """A turn that the participant is at; ``ues`` is what it acts with."""

    simulations: Simulations
    name: str
    ues: AsyncUESClient
    mark: str = "turn 1"

    async def settle(self, *, dies: bool = False) -> TurnApplied:
        """One attempt at the turn's end; its worker may die when it has made the request."""
        settling = Settling(SCENARIO, 1, START)

        async def work() -> TurnApplied:
            found, checkpoint = await self.simulations.step_in_hand(self.name, self.mark, settling.step)
            if dies:
                raise DiedError
            return settling.outcome(found, checkpoint)

        return await attempt(work)


async def made(simulations: Simulations) -> tuple[str, BlobRef]:
    """The name of a simulation of the tiny day, and its first checkpoint."""
    name = f"settling-{next(_names)}"
    state = at_time(json.loads((TINY / "initial_state.json").read_text()), START)

    async def make() -> BlobRef:
        simulation = await simulations.create(name, 7)
        await simulation.admin.scenario.import_full(state)
        await simulation.admin.simulation.start()
        return await simulations.keep(simulation)

    return name, await attempt(make)


@asynccontextmanager
async def playing(simulations: Simulations, conditions: Conditions | None = None) -> AsyncIterator[Turn]:
    name, beginning = await made(simulations)
    begin = partial(simulations.begin, name, beginning, mark="turn 1", issue=1, conditions=conditions)
    simulation = await attempt(begin)
    access = simulation.make_access(1)
    async with AsyncUESClient(access.address, access.secret) as ues:
        yield Turn(simulations, name, ues)


async def tell_ana(ues: AsyncUESClient) -> None:
    await ues.chat.send(role="assistant", content="Nothing to report.")


ACTIONS: dict[str, Any] = {"nobody is asked": tell_ana, "a character is": ask_ben}


@pytest.mark.parametrize("act", ACTIONS.values(), ids=ACTIONS)
async def test_an_end_that_was_interrupted_comes_to_the_same(simulations: Simulations, act: Any) -> None:
    found = []
    for deaths in range(3):
        async with playing(simulations) as turn:
            await act(turn.ues)
            for _ in range(deaths):
                with pytest.raises(DiedError):
                    await turn.settle(dies=True)
            found.append(await turn.settle())
            assert (await turn.ues.time.get_state()).current_time == START + TURN_SETTLES
    whole, *others = found
    assert [entry.action for entry in whole.actions] == ["chat.send_message" if act is tell_ana else "email.send"]
    assert [addressed.character_id for addressed in whole.addressed] == ([] if act is tell_ana else ["ben"])
    for again in others:
        assert _without_names(again) == _without_names(whole)


def _without_names(applied: TurnApplied) -> dict[str, Any]:
    """Each simulation has ids and keys of its own."""
    messages = [message.model_dump(exclude={"message_id", "thread_id"}) for message in applied.messages]
    return {**applied.model_dump(include={"actions", "addressed"}), "messages": messages}


async def test_what_a_participant_does_after_its_answer_is_refused(simulations: Simulations) -> None:
    """Else what comes between two attempts would be in the next turn, and in no action log."""
    async with playing(simulations) as turn:
        await tell_ana(turn.ues)
        with pytest.raises(DiedError):
            await turn.settle(dies=True)
        with pytest.raises(ConflictError, check=says()):
            await ask_ben(turn.ues)
        assert len((await turn.ues.chat.get_state())["messages"]) == 1
        settled = await turn.settle()
        with pytest.raises(ConflictError, check=says()):
            await ask_ben(turn.ues)
        await attempt(lambda: simulations.begin(turn.name, settled.checkpoint, mark="turn 2", issue=1))
        await ask_ben(turn.ues)


async def test_a_turn_whose_simulator_is_lost_is_lost_with_it(simulations: Simulations) -> None:
    async with playing(simulations) as turn:
        await tell_ana(turn.ues)
        await turn.settle()
        await attempt(lambda: simulations.end(turn.name))
        with pytest.raises(SimulationGoneError):
            await turn.settle()


async def test_whoever_was_overtaken_settles_nothing(simulations: Simulations) -> None:
    async with playing(simulations) as turn:
        settling = Settling(SCENARIO, 1, START)

        async def overtaken() -> None:
            """An attempt that is stopped before its first request, until another one has settled the turn."""
            settled.append(await turn.settle())
            await simulations.step_in_hand(turn.name, turn.mark, settling.step)

        settled: list[TurnApplied] = []
        with pytest.raises(OvertakenError):
            await attempt(overtaken)
        assert (await turn.ues.time.get_state()).current_time == START + TURN_SETTLES
        assert len(settled) == 1


FIVE_SECONDS = Conditions(turn=1, seed=7, seconds=5.0, factor=0.0, noise=0)


async def test_requests_cost_time_and_the_turn_is_read_until_the_last_one(simulations: Simulations) -> None:
    """However often its end is begun again, it is at the same instant, and time doesn't pass after it."""
    found = []
    for deaths in range(2):
        async with playing(simulations, FIVE_SECONDS) as turn:
            await turn.ues.time.get_state()
            await tell_ana(turn.ues)
            await ask_ben(turn.ues)
            for _ in range(deaths):
                with pytest.raises(DiedError):
                    await turn.settle(dies=True)
                await turn.ues.time.get_state()
            settled = await turn.settle()
            assert (await turn.ues.time.get_state()).current_time == settled.settled_at
            found.append(settled)
    whole, again = found
    assert whole.settled_at == again.settled_at == START + timedelta(seconds=15) + TURN_SETTLES
    assert [entry.timestamp - START for entry in whole.actions] == [timedelta(seconds=10), timedelta(seconds=15)]
    assert [message.sent_at for message in whole.messages] == [START + timedelta(seconds=15)]
    assert _without_names(again) == _without_names(whole)


async def test_a_turn_that_begins_again_costs_what_it_did(simulations: Simulations) -> None:
    async with playing(simulations, FIVE_SECONDS) as turn:
        await tell_ana(turn.ues)
        settled = (await turn.settle()).checkpoint
        for _ in range(2):
            begin = partial(simulations.begin, turn.name, settled, mark="turn 1", issue=1, conditions=FIVE_SECONDS)
            await attempt(begin)
            await turn.ues.time.get_state()
            now = (await turn.ues.time.get_state()).current_time
            assert now == START + TURN_SETTLES + timedelta(seconds=15)
