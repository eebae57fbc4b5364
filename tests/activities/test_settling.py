"""The end of a turn, with the simulation in hand: however often it is begun again, it comes to the same."""

import itertools
import json
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest
from temporalio.exceptions import ApplicationError

from activities.packages.initial_states import at_time
from activities.plan import TurnApplied
from activities.settling import Settling
from activities.simulations.hosts import SimulationGoneError, Step, Stepped
from activities.simulations.keys import host_key
from activities.simulations.shared_host import SharedHost
from activities.simulations.simulations import Simulations
from proctor_protocol.config import GreenAgentConfig
from proctor_protocol.scenario import ScenarioConfig
from proctor_storage.blobs import BlobRef, BlobStore
from purple_sdk.ues import AsyncUESClient, ConflictError, OvertakenError
from tests.activities.attempts import attempt
from tests.assessments.packages import TINY
from tests.assessments.scripts import ask_ben
from tests.processes import serving

SECRET = "s" * 32
START = datetime.fromisoformat("2026-03-02T09:00:00+00:00")
NOON = START + timedelta(hours=3)
"""Until then one event of the tiny scenario happens: a newsletter arrives."""

SCENARIO = ScenarioConfig.model_validate_json((TINY / "scenario.json").read_bytes())
_names = itertools.count(1)


class DiedError(Exception):
    """The worker dies here."""


@pytest.fixture(scope="module")
def simulator() -> Iterator[str]:
    with serving("ues_sim", "--port", "0", UES_HOST_KEY=host_key(SECRET)) as (address, _):
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

    async def settle(self, quiet_to: datetime | None = NOON, *, dies: str = "") -> TurnApplied:
        """One attempt at the turn's end, whose worker may die ``between`` its steps, or ``after`` them."""
        settling = Settling(SCENARIO, 1, START, quiet_to)

        def go_on(found: Stepped) -> Step | None:
            further = settling.go_on(found)
            if dies == "between":
                raise DiedError
            return further

        async def work() -> TurnApplied:
            reached = await self.simulations.step_in_hand(self.name, self.mark, settling.step, go_on)
            if dies:
                raise DiedError
            return settling.outcome(*reached)

        return await attempt(work)


@asynccontextmanager
async def playing(simulations: Simulations) -> AsyncIterator[Turn]:
    name = f"settling-{next(_names)}"
    state = at_time(json.loads((TINY / "initial_state.json").read_text()), START)

    async def make() -> BlobRef:
        simulation = await simulations.create(name, 7)
        await simulation.admin.scenario.import_full(state)
        await simulation.admin.simulation.start()
        return await simulations.keep(simulation)

    made = await attempt(make)
    simulation = await attempt(lambda: simulations.begin(name, made, mark="turn 1", issue=1))
    access = simulation.make_access(1)
    async with AsyncUESClient(access.address, access.secret) as ues:
        yield Turn(simulations, name, ues)


async def tell_ana(ues: AsyncUESClient) -> None:
    await ues.chat.send(role="assistant", content="Nothing to report.")


DEEDS: dict[str, Any] = {"nobody is asked": tell_ana, "a character is": ask_ben}


@pytest.mark.parametrize("act", DEEDS.values(), ids=DEEDS)
async def test_an_end_that_was_interrupted_comes_to_the_same(simulations: Simulations, act: Any) -> None:
    found = {}
    for dies in ("", "between", "after", "after, twice"):
        async with playing(simulations) as turn:
            await act(turn.ues)
            for at in [dies.partition(",")[0]] * (2 if "twice" in dies else 1) if dies else []:
                with pytest.raises(DiedError):
                    await turn.settle(dies=at)
            found[dies] = await turn.settle()
    whole = found.pop("")
    assert [entry.action for entry in whole.actions] == ["chat.send_message" if act is tell_ana else "email.send"]
    if act is tell_ana:
        assert whole.advanced is not None
        assert (whole.advanced.current_time, whole.advanced.events_processed, whole.addressed) == (NOON, 1, [])
    else:
        assert [addressed.character_id for addressed in whole.addressed] == ["ben"]
        assert whole.advanced is None
    for again in found.values():
        assert _without_names(again) == _without_names(whole)


def _without_names(applied: TurnApplied) -> dict[str, Any]:
    """Each simulation has ids and keys of its own."""
    advanced = None if applied.advanced is None else applied.advanced.model_dump(exclude={"checkpoint"})
    messages = [message.model_dump(exclude={"message_id", "thread_id"}) for message in applied.messages]
    return {**applied.model_dump(include={"actions", "addressed"}), "messages": messages, "advanced": advanced}


async def test_a_clock_that_has_moved_on_says_that_nobody_had_to_be_asked(simulations: Simulations) -> None:
    """What can be read later on (a message may be gone by then, a guest come in) decides nothing any more."""
    async with playing(simulations) as turn:
        await ask_ben(turn.ues)
        first = Settling(SCENARIO, 1, START, NOON).step
        await attempt(lambda: simulations.step_in_hand(turn.name, turn.mark, first, lambda _: Step(to=NOON)))
        settled = await turn.settle()
        assert (settled.addressed, settled.messages) == ([], [])
        assert settled.advanced is not None


async def test_what_a_participant_does_after_its_answer_is_refused(simulations: Simulations) -> None:
    """Else what comes between two attempts would be in the next turn, and in no action log."""
    async with playing(simulations) as turn:
        await tell_ana(turn.ues)
        with pytest.raises(DiedError):
            await turn.settle(dies="between")
        with pytest.raises(ConflictError, match="Your turn is over"):
            await ask_ben(turn.ues)
        assert len((await turn.ues.chat.get_state())["messages"]) == 1
        settled = await turn.settle()
        with pytest.raises(ConflictError, match="Your turn is over"):
            await ask_ben(turn.ues)
        await attempt(lambda: simulations.begin(turn.name, settled.checkpoint, mark="turn 2", issue=1))
        await ask_ben(turn.ues)


async def test_a_simulator_that_is_lost_between_the_two_steps_is_put_where_it_was(
    simulations: Simulations, simulator: str
) -> None:
    """What was reached first is in the attempt's hand; with the work before it is gone, and so is the turn."""
    async with playing(simulations) as turn:
        await tell_ana(turn.ues)
        settling = Settling(SCENARIO, 1, START, NOON)

        def lose(found: Stepped) -> Step | None:
            with httpx.Client(base_url=simulator, headers={"X-API-Key": host_key(SECRET)}) as host:
                held = host.get(f"/simulations/{turn.name}/fence").json()["fence"]
                gone = host.delete(f"/simulations/{turn.name}", headers={"X-UES-Fence": str(held)})
                assert gone.status_code == 200
            return settling.go_on(found)

        found, checkpoint = await attempt(lambda: simulations.step_in_hand(turn.name, turn.mark, settling.step, lose))
        assert settling.outcome(found, checkpoint).advanced is not None
        assert (await turn.settle()).advanced is not None
        await attempt(lambda: simulations.end(turn.name))
        with pytest.raises(SimulationGoneError):
            await turn.settle()


async def test_whoever_was_overtaken_settles_nothing(simulations: Simulations) -> None:
    async with playing(simulations) as turn:
        settling = Settling(SCENARIO, 1, START, NOON)

        async def overtaken() -> None:
            """An attempt that is stopped before its first request, until another one has settled the turn."""
            settled.append(await turn.settle())
            await simulations.step_in_hand(turn.name, turn.mark, settling.step, settling.go_on)

        settled: list[TurnApplied] = []
        with pytest.raises(OvertakenError):
            await attempt(overtaken)
        assert (await turn.ues.time.get_state()).current_time == NOON
        assert len(settled) == 1


async def test_an_answer_that_was_another_one_before_is_the_participants_failure(simulations: Simulations) -> None:
    """Time has moved by what it said first, and doesn't go back."""
    async with playing(simulations) as turn:
        with pytest.raises(DiedError):
            await turn.settle(dies="after")
        for other in (NOON - timedelta(hours=1), None):
            with pytest.raises(ApplicationError, match="changed its answer to turn 1"):
                await turn.settle(other)
        assert (await turn.settle(NOON + timedelta(hours=1))).advanced is not None
