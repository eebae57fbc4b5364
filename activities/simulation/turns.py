"""The activities after a turn: they read the participant's actions and move the clock."""

from datetime import timedelta

from temporalio import activity

from proctor.activities.characters import generator
from proctor.activities.scenario_code.scenarios import Scenarios
from proctor.activities.simulation import payloads
from proctor.activities.simulation.delivering import arrival_events
from proctor.activities.simulation.hosts import PlannedEvent, Step
from proctor.activities.simulation.settling import Settling
from proctor.activities.simulation.simulations import Simulations
from proctor.protocol.scenario import ScenarioConfig


class TurnActivities:
    def __init__(self, scenarios: Scenarios, simulations: Simulations) -> None:
        self._scenarios = scenarios
        self._simulations = simulations

    @activity.defn
    async def apply(self, payload: payloads.ApplyInput) -> payloads.TurnApplied:
        """Let a turn settle from the checkpoint that was stored when the participant had answered, and read its
        actions.

        Usually ``purple_turn`` does this itself, in the same attempt.
        """
        plan = payload.plan
        scenario = await self._scenarios.load_scenario(plan.scenario)
        settling = Settling(scenario, payload.turn, payload.turn_start)
        return await settling.settle_kept(self._simulations.of(plan), plan.simulation_id, payload.checkpoint)

    @activity.defn
    async def advance(self, payload: payloads.AdvanceInput) -> payloads.Advanced:
        """Schedule the characters' replies and other participants' messages, then move the clock to ``payload.to``.
        Events that are due on the way happen.
        """
        plan = payload.plan
        scenario = await self._scenarios.load_scenario(plan.scenario)
        stepped, checkpoint = await self._simulations.of(plan).step(
            plan.simulation_id,
            payload.checkpoint,
            Step(
                events=(
                    *(_plan_event(reply, scenario, payload.turn) for reply in payload.replies),
                    *(event for message in payload.arrivals for event in arrival_events(message)),
                ),
                to=payload.to,
            ),
        )
        return payloads.Advanced(
            checkpoint=checkpoint,
            current_time=max(payload.to, stepped.current_time),
            events_processed=stepped.events_executed,
        )


def _plan_event(planned: payloads.PlannedReply, scenario: ScenarioConfig, turn: int) -> PlannedEvent:
    modality, data = generator.reply_event(planned.reply, planned.message, scenario)
    return PlannedEvent(
        scheduled_time=planned.message.sent_at + timedelta(seconds=planned.reply.delay_seconds),
        modality=modality,
        data=data,
        metadata={"character_id": planned.reply.character_id, "turn": turn},
    )
