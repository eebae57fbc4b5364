"""Carry out an evaluator's requests to a claimed simulation in a single step.

A step schedules events, moves the clock, and reads the data that the evaluator asks for.
"""

from typing import Annotated

from pydantic import Field

from proctor.ues.claims import revoke_all
from proctor.ues.events import EXECUTED, Event
from proctor.ues.keys import ADMIN_KEY_ID
from proctor.ues.modalities import MODALITIES
from proctor.ues.schema import Int, JsonObject, Request
from proctor.ues.simulation import Author, Simulation
from proctor.ues.times import Instant

_ADMIN = Author(agent_id=ADMIN_KEY_ID, key_id=ADMIN_KEY_ID)


class ScheduledEvent(Request):
    """An event to schedule; a past event runs now."""

    scheduled_time: Instant
    modality: str
    data: JsonObject
    priority: Annotated[Int, Field(ge=0, le=100)] = 50
    metadata: JsonObject = Field(default_factory=dict)


class Step(Request):
    """The requests of a step, in the order of their execution.

    Attributes:
        revoke: the name of keys to revoke.
        ends_turn: whether only the holder may change the simulation from now on, until the next mark or restore. No
            action can then be added to the turn after it was read.
        events: the events to schedule.
        to: the instant to move the clock to, unless the clock is already past it. If the ended turn has a course, the
            clock moves to the turn's last request plus the time from ``actions_at`` to ``to``, but at least to ``to``.
        actions_of, actions_at: a name of keys, and an instant. The answer has the events that these keys made at the
            instant, and the news since then in the events' modalities. If the ended turn has a course, the answer also
            has the later events, up to the turn's last request.
        states: the modalities to read.
    """

    revoke: str | None = None
    ends_turn: bool = False
    events: Annotated[list[ScheduledEvent], Field(max_length=10_000)] = Field(default_factory=list)
    to: Instant | None = None
    actions_of: str | None = None
    actions_at: Instant | None = None
    states: Annotated[list[str], Field(max_length=100)] = Field(default_factory=list)


def carry_out(simulation: Simulation, step: Step) -> JsonObject:
    """Carry out a step and return the answer. Raises the errors of scheduling and of moving the clock."""
    if step.revoke is not None:
        revoke_all(simulation, step.revoke)
    if step.ends_turn:
        simulation.is_turn_over = True
    for event in step.events:
        simulation.schedule(
            event.modality,
            event.data,
            max(event.scheduled_time, simulation.clock.text),
            author=_ADMIN,
            priority=event.priority,
            metadata=event.metadata,
            loc=("events", "data"),
        )
    ran: list[Event] = []
    to, until, course = step.to, step.actions_at, simulation.course
    if course is not None and step.ends_turn and step.actions_at is not None and to is not None:
        course.end(simulation.clock.text)
        to, until = course.find_reading_time(to, step.actions_at), course.ended_at
    if to is not None and to > simulation.clock.text:
        ran = simulation.set_time(to)
    actions = _actions(simulation, step, until)
    return {
        "current_time": simulation.clock.text,
        "events_executed": sum(event["status"] == EXECUTED for event in ran),
        "actions": actions,
        "news": {
            name: MODALITIES[name].show_news(simulation.view(name), step.actions_at)
            for name in sorted({event["modality"] for event in actions})
        }
        if step.actions_at is not None
        else {},
        "states": {name: MODALITIES[name].show_state(simulation.view(name)) for name in step.states},
        **({"course": course.describe()} if course is not None and step.ends_turn else {}),
    }


def _actions(simulation: Simulation, step: Step, until: str | None) -> list[Event]:
    if step.actions_of is None or step.actions_at is None:
        return []
    authors = {key.key_id for key in simulation.keys.by_id.values() if key.data["name"] == step.actions_of}
    at = step.actions_at
    return [event for event in simulation.events.list_ordered(at, until) if event["agent_id"] in authors]
