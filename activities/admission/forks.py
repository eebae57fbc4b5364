"""A fork is admitted and set up: a simulation of its own, in the state that another one had before a turn."""

import asyncio

from temporalio import activity

from activities.admission.activities import plan_assessment
from activities.admission.fork_plan import ForkSetUp, Inherited
from activities.admission.origins import Origins
from activities.admission.payloads import AdmitInput
from activities.attempts import failures
from activities.plan import ForkPlan, Plan
from activities.scenario_code.scenarios import Scenarios
from activities.simulation.hosts import Step
from activities.simulation.lifecycle import summary_of
from activities.simulation.payloads import Prepared
from activities.simulation.shown import Shown
from activities.simulation.simulations import Simulations
from proctor_protocol.forks import ForkedFrom
from proctor_protocol.request import BadRequestError, parse_request, unknown_settings
from proctor_settings.config import GreenAgentConfig
from proctor_storage.blobs import BlobStore


class ForkActivities:
    """What forks need beside what every assessment does."""

    def __init__(
        self, config: GreenAgentConfig, store: BlobStore, scenarios: Scenarios, simulations: Simulations
    ) -> None:
        self._config = config
        self._store = store
        self._simulations = simulations
        self._origins = Origins(config, store, scenarios)

    @activity.defn
    async def admit_fork(self, payload: AdmitInput) -> Plan:
        """Check a request for a fork, and fix it; a bad one is ``Rejected`` with a sentence for its sender."""
        try:
            asked = parse_request(payload.request)
            origin = await self._origins.find(asked.config.fork_of or "")
            request = origin.merged(asked)
            turn = origin.first_turn(asked.config)
            await self._origins.require_checkpoint(origin, turn)
            loaded = await self._origins.load_package(origin)
        except BadRequestError as problem:
            raise failures.final(failures.REJECTED, str(problem)) from None
        plan = await plan_assessment(
            self._config, self._store, payload.task_id, request, loaded, unknown_settings(payload.request)
        )
        forks = [
            ForkPlan(
                origin=ForkedFrom(task_id=part.task_id, turn=turn, forked_from=part.forked_from),
                inherited=await self._store.put(part.played.before(turn).model_dump_json().encode()),
            )
            for part in origin.parts
        ]
        if not plan.roles:
            return plan.model_copy(update={"fork": forks[0]})
        roles = [role.model_copy(update={"fork": fork}) for role, fork in zip(plan.roles, forks, strict=True)]
        return plan.model_copy(update={"roles": roles, "fork": ForkPlan(origin=origin.at(turn))})

    @activity.defn
    async def set_up_fork(self, plan: Plan) -> ForkSetUp:
        """Make the fork's simulation of the original's checkpoint, with keys of its own."""
        assert plan.fork is not None
        assert plan.fork.inherited is not None
        store, simulator = self._store, await self._simulations.choose_server()
        simulations = self._simulations.at(simulator)
        inherited = Inherited.model_validate_json(await store.get(plan.fork.inherited))
        first, last = inherited.turns[0], inherited.turns[-1]
        stepped, _ = await simulations.step(plan.simulation_id, first.checkpoint, Step(shows_all=True))
        simulation = await simulations.adopt(plan.simulation_id, last.checkpoint)
        now = await simulations.keep(simulation, everything=True)
        shown = await simulations.show(simulation, plan.simulation_id, now)
        summary = await asyncio.to_thread(summary_of, shown, last.reached)
        initial_state = await store.put(Shown.of(store, stepped).written())

        beginning = Prepared(
            checkpoint=first.checkpoint,
            initial_state=initial_state,
            current_time=first.reached,
            summary=summary,
            simulator=simulator,
        )
        return ForkSetUp(
            beginning=beginning,
            now=beginning.model_copy(update={"checkpoint": now, "current_time": last.reached}),
            inherited=inherited,
        )
