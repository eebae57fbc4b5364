"""What happens to the simulation after a turn: the participant's actions are read, and the clock moves."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from temporalio import activity

from proctor.activities.characters import generator
from proctor.activities.characters.generator import answerable
from proctor.activities.characters.outgoing import outgoing_messages
from proctor.activities.scenario_code.scenarios import Scenarios
from proctor.activities.simulation import payloads
from proctor.activities.simulation.delivering import arrival_events, sent_to_colleagues
from proctor.activities.simulation.hosts import PlannedEvent, Step, Stepped
from proctor.activities.simulation.keys import PARTICIPANT
from proctor.activities.simulation.simulations import Simulations
from proctor.protocol.scenario import ScenarioConfig
from proctor.storage.blobs import BlobRef
from purple_sdk.protocol.actions import action_name
from purple_sdk.protocol.results import ActionLogEntryWithTurn


class TurnActivities:
    def __init__(self, scenarios: Scenarios, simulations: Simulations) -> None:
        self._scenarios = scenarios
        self._simulations = simulations

    @activity.defn
    async def apply(self, payload: payloads.ApplyInput) -> payloads.TurnApplied:
        """Let a turn settle whose simulation was kept when the participant had answered: read what it did.

        Mostly ``purple_turn`` does this itself, with the simulation in hand.
        """
        plan = payload.plan
        scenario = await self._scenarios.load_scenario(plan.scenario)
        settling = Settling(scenario, payload.turn, payload.turn_start)
        stepped, checkpoint = await self._simulations.of(plan).step(
            plan.simulation_id, payload.checkpoint, settling.step
        )
        return settling.outcome(stepped, checkpoint)

    @activity.defn
    async def advance(self, payload: payloads.AdvanceInput) -> payloads.Advanced:
        """Schedule the characters' replies, and what other participants sent, then move the clock to ``payload.to``;
        what is due on the way happens.
        """
        plan = payload.plan
        scenario = await self._scenarios.load_scenario(plan.scenario)
        stepped, checkpoint = await self._simulations.of(plan).step(
            plan.simulation_id,
            payload.checkpoint,
            Step(
                events=(
                    *(_event_of(reply, scenario, payload.turn) for reply in payload.replies),
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


def _event_of(planned: payloads.PlannedReply, scenario: ScenarioConfig, turn: int) -> PlannedEvent:
    modality, data = generator.reply_event(planned.reply, planned.message, scenario)
    return PlannedEvent(
        scheduled_time=planned.message.sent_at + timedelta(seconds=planned.reply.delay_seconds),
        modality=modality,
        data=data,
        metadata={"character_id": planned.reply.character_id, "turn": turn},
    )


_EXECUTED, _FAILED = "executed", "failed"

_NOT_PARAMETERS = {"modality_type", "timestamp", "input_id", "operation", "action"}
_DEFAULT_OPERATION = {"chat": "send_message"}


def entries_from_events(events: Iterable[Mapping[str, Any]], key_id: str, turn: int) -> list[ActionLogEntryWithTurn]:
    """Read the participant's actions off event answers of ``GET /events``, in the order of the log: those by its key
    that ran.

    Returns one entry an event, by time and then as given. ``action`` is its name (``purple_sdk.protocol.actions``), for
    example ``email.mark_read``; ``parameters`` are the input's fields that aren't null.
    """
    actions = [
        _entry(event, turn)
        for event in events
        if event.get("agent_id") == key_id and event.get("status") in (_EXECUTED, _FAILED)
    ]
    return sorted(actions, key=lambda entry: entry.timestamp)


def _entry(event: Mapping[str, Any], turn: int) -> ActionLogEntryWithTurn:
    modality, data = event["modality"], event.get("data") or {}
    return ActionLogEntryWithTurn(
        turn=turn,
        timestamp=event.get("executed_at") or event["scheduled_time"],
        action=_action_name(modality, data),
        parameters=_parameters(data),
        success=event["status"] == _EXECUTED,
        error_message=event.get("error_message"),
    )


def _action_name(modality: str, data: Mapping[str, Any]) -> str:
    operation = data.get("operation") or data.get("action") or _DEFAULT_OPERATION.get(modality, "update")
    if (modality, operation) == ("sms", "update_delivery_status"):
        status = (data.get("delivery_update_data") or {}).get("new_status")
        operation = status if status in ("read", "unread") else operation
    return action_name(f"{modality}.{operation}")


def _parameters(data: Mapping[str, Any]) -> dict[str, Any]:
    """The fields that say what was done; an SMS's ``message_data`` and its like are lifted up."""
    parameters: dict[str, Any] = {}
    for name, value in data.items():
        if name in _NOT_PARAMETERS or value is None:
            continue
        if name.endswith("_data") and isinstance(value, Mapping):
            parameters.update({key: inner for key, inner in value.items() if inner is not None})
        else:
            parameters[name] = value
    return parameters


@dataclass(frozen=True)
class Settling:
    scenario: ScenarioConfig
    turn: int
    turn_start: datetime

    @property
    def step(self) -> Step:
        """Let a second pass, and read what was done before it."""
        return Step(to=self.turn_start + payloads.TURN_SETTLES, actions_at=self.turn_start)

    def outcome(self, stepped: Stepped, checkpoint: BlobRef) -> payloads.TurnApplied:
        """What the participant did, by the result of the step, and the checkpoint that the step reached."""
        actions = [{**action, "agent_id": PARTICIPANT} for action in stepped.actions]
        outgoing = outgoing_messages(stepped.news, actions)
        answered = answerable(outgoing, self.scenario)
        return payloads.TurnApplied(
            checkpoint=checkpoint,
            actions=entries_from_events(actions, PARTICIPANT, self.turn),
            messages=[message for message, _ in answered],
            addressed=[
                payloads.Addressee(message=place, character_id=character_id)
                for place, (_, characters) in enumerate(answered)
                for character_id in characters
            ],
            sent=sent_to_colleagues(outgoing, self.scenario),
            **_of_course(stepped),
        )


def _of_course(stepped: Stepped) -> dict[str, Any]:
    course = stepped.course
    if course is None:
        return {}
    return {
        "settled_at": stepped.current_time,
        "events_processed": course.events_executed + stepped.events_executed,
        "moves": course.moves,
        "noise": course.noise,
    }
