"""Simulations as they were when the turns were over, shared by all judgements that look at one at the same time."""

import asyncio
from weakref import WeakValueDictionary

from temporalio import activity

from activities.attempts.fencing import own_fence
from activities.judging.payloads import JudgeInput
from activities.simulation.hosts import Simulation
from activities.simulation.simulations import Simulations, require_still
from proctor_storage.blobs import BlobRef

_Place = tuple[str, str | None, BlobRef]
"""Which simulation, on which of the simulator's servers, and at which checkpoint."""


class SharedLooks:
    def __init__(self, simulations: Simulations) -> None:
        self._simulations = simulations
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self._shared: WeakValueDictionary[_Place, Simulation] = WeakValueDictionary()

    async def look_at(self, payload: JudgeInput) -> Simulation:
        """The simulation. The first judgement restores it for all that run at the same time; each makes sure, when it
        has judged, that it is still the same one.

        A local activity looks with the fence of ``conclude``: its own time is the worker's, which must not be a fence.
        """
        place = _place_of(payload)
        async with self._locks.setdefault(payload.plan.simulation_id, asyncio.Lock()):
            simulation = self._shared.get(place)
            if simulation is None:
                simulation = self._shared[place] = await self._simulations.of(payload.plan).look_at(
                    payload.plan.simulation_id,
                    payload.evidence.checkpoint,
                    payload.evidence.fence if activity.info().is_local else own_fence(),
                )
        return simulation

    async def require_still(self, payload: JudgeInput, simulation: Simulation) -> None:
        """As ``activities.simulation.simulations.require_still``; if it isn't, the next judgement looks again."""
        try:
            await require_still(simulation)
        except BaseException:
            self.forget(payload, simulation)
            raise

    def forget(self, payload: JudgeInput, simulation: Simulation) -> None:
        """Let the next judgement look again: this simulation can't be reached, or is another one now."""
        place = _place_of(payload)
        if self._shared.get(place) is simulation:
            del self._shared[place]


def _place_of(payload: JudgeInput) -> _Place:
    return payload.plan.simulation_id, payload.plan.simulator, payload.evidence.checkpoint
