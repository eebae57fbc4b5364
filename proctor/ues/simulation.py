"""One simulation: its clock, events, modality states, undo history, keys, holds and log, and their operations."""

import logging
import secrets
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import orjson
from pydantic import ValidationError

from proctor.ues.access_log import AccessLog
from proctor.ues.changes import Change, Patch, State, apply_patch
from proctor.ues.clock import Clock
from proctor.ues.course import Course
from proctor.ues.events import CANCELLED, EXECUTED, FAILED, PENDING, Event, EventLog
from proctor.ues.holds import Holds
from proctor.ues.ids import IdSource
from proctor.ues.keys import KeyRing
from proctor.ues.limits import Allowance
from proctor.ues.modalities import MODALITIES
from proctor.ues.modality import Action, Modality, View
from proctor.ues.parts import Parts
from proctor.ues.problems import Conflict, Impossible, Invalid, NotFound, OperationFailed, OutOfRoom, UnknownModality
from proctor.ues.schema import JsonObject, convert_errors, problem
from proctor.ues.times import from_text, shift, to_text, wall_now

logger = logging.getLogger(__name__)

EVENT_BYTES = 500
"""The assumed bytes of an event besides its data."""

ACTION_PRIORITY = 100
"""The priority of an event that an action made: the highest possible."""

Step = dict[str, Any]
"""An entry of the undo or redo stack: event_id, modality, action, patch."""


@dataclass(frozen=True, slots=True)
class Author:
    """The author of an event: the name in the event, and the key of the request."""

    agent_id: str
    key_id: str


def new_life() -> str:
    """Return a unique text for one life of a simulation."""
    return secrets.token_hex(8)


class Simulation:
    """A simulated user environment. Every method leaves it consistent, also when it raises.

    All stored data is plain and JSON-ready: a checkpoint is one dump. Methods raise the errors of ``problems``.
    """

    def __init__(self, simulation_id: str, admin_secret: str, seed: str) -> None:
        now = wall_now().replace(microsecond=0)
        self.simulation_id = simulation_id
        self.ids = IdSource(seed)
        self.clock = Clock(now)
        self.is_running = False
        self.states: dict[str, State] = {}
        self._memos: dict[str, dict[Any, Any]] = {}
        self._indexes: dict[str, dict[Any, Any]] = {}
        self.replace_states({})
        self.events = EventLog()
        self.undo_stack: list[Step] = []
        self.redo_stack: list[Step] = []
        self.holds = Holds()
        self.keys = KeyRing(admin_secret)
        self.access_log = AccessLog()
        self.scenario_metadata: JsonObject = {}
        self.created_at = to_text(now)
        self.allowance = Allowance()
        """The participant's remaining allowance in this turn. Checkpoints don't contain it."""
        self.mark: str | None = None
        """The evaluator's note on the turn under way; a restore removes it. Checkpoints don't contain it."""
        self.fence = 0
        """The fence of the simulation's holder (``fences``); 0 without a holder. Checkpoints don't contain it."""
        self.is_untouched = False
        """Whether nothing has changed since the simulation was last claimed."""
        self.course: Course | None = None
        """The course of the current turn, if its clock runs or there is noise. Checkpoints don't contain it."""
        self.is_turn_over = False
        """Whether only the holder may change the simulation, until the next mark or restore. Checkpoints don't contain
        it."""
        self.life = new_life()
        """A text drawn when the simulation is made or restored. A changed text shows callers that state was lost."""
        self.checkpoints: dict[bool, tuple[str, bytes]] = {}
        """Digest and bytes of the last checkpoints taken or restored, until the next change: under False a whole
        checkpoint, under True a manifest. The newest is the last."""
        self.parts = Parts()

    def note_change(self) -> None:
        """Note that the simulation is no longer equal to its last checkpoint."""
        self.checkpoints.clear()
        self.is_untouched = False

    def note_checkpoint(self, digest: str, content: bytes, *, in_parts: bool) -> None:
        """Note that the simulation equals a checkpoint. With ``in_parts``, ``content`` is the checkpoint's manifest."""
        self.checkpoints.pop(in_parts, None)
        self.checkpoints[in_parts] = (digest, content)

    def equals_checkpoint(self, digest: str | None) -> bool:
        """Whether the simulation is known to equal a checkpoint."""
        return any(known == digest for known, _ in self.checkpoints.values())

    def describe(self) -> JsonObject:
        """Return the simulation's checkpoint, mark, fence and life."""
        return {
            "checkpoint": next((digest for digest, _ in reversed(self.checkpoints.values())), None),
            "mark": self.mark,
            "fence": self.fence,
            "is_untouched": self.is_untouched,
            "life": self.life,
        }

    # --- modalities -----------------------------------------------------------------------------------------------

    def find_modality(self, name: str) -> Modality:
        modality = MODALITIES.get(name)
        if modality is None:
            raise UnknownModality(name, list(MODALITIES))
        return modality

    def view(self, name: str) -> View:
        return View(self.states[name], self.clock.text, self._memos[name], self._neighbours(MODALITIES[name]))

    def _neighbours(self, modality: Modality) -> dict[str, State]:
        return {name: self.states[name] for name in modality.neighbours if name in self.states}

    def replace_states(self, states: dict[str, State]) -> None:
        """Replace the modalities' states; omitted ones start empty."""
        now = self.clock.text
        self.states = {name: states.get(name) or item.make_state(now) for name, item in MODALITIES.items()}
        self._memos = {name: {} for name in MODALITIES}
        self._indexes = {name: {} for name in MODALITIES}

    # --- events ---------------------------------------------------------------------------------------------------

    def check_data(self, modality: Modality, data: JsonObject, timestamp: str, *loc: str | int) -> JsonObject:
        """Complete and check an event's data; a missing ``input_id`` stays empty.

        It draws no id: a refused request must not change the simulation. Raises Invalid (422) with locations under
        ``loc``.
        """
        full = {"modality_type": modality.name, "timestamp": timestamp, "input_id": "", **data}
        if full["modality_type"] != modality.name:
            raise problem(
                "literal_error", f"Input should be {modality.name!r}", full["modality_type"], *loc, "modality_type"
            )
        if full["timestamp"] is None:
            full["timestamp"] = timestamp
        if not full["input_id"]:
            full["input_id"] = ""
        try:
            modality.input.model_validate(full)
        except ValidationError as error:
            raise Invalid(convert_errors(error, *loc)) from None
        return full

    def _enter(
        self,
        modality: Modality,
        data: JsonObject,
        scheduled_time: str,
        priority: int,
        author: Author,
        metadata: JsonObject,
    ) -> Event:
        data["input_id"] = data["input_id"] or self.ids.draw()
        event: Event = {
            "event_id": self.ids.draw(),
            "scheduled_time": scheduled_time,
            "modality": modality.name,
            "data": data,
            "status": PENDING,
            "created_at": self.clock.text,
            "executed_at": None,
            "agent_id": author.agent_id,
            "priority": priority,
            "error_message": None,
            "metadata": {**metadata, "created_by_key": author.key_id},
        }
        self.note_change()
        self.parts.touch_event(event["event_id"])
        self.events.add(event)
        return event

    def check_event(
        self, name: str, data: JsonObject, scheduled_time: str, *loc: str | int
    ) -> tuple[Modality, JsonObject]:
        """Return the modality and the checked data of an event that can be scheduled.

        Raises:
            UnknownModality: 404, there is no such modality.
            Invalid: 422, a value is out of range.
            Impossible: 400, the time is past, or the modality's input refuses the data for another reason.
        """
        modality = self.find_modality(name)
        if scheduled_time < self.clock.text:
            raise Impossible(
                f"scheduled_time {scheduled_time} lies before the simulator's time {self.clock.text}; choose a later."
            )
        try:
            full = self.check_data(modality, data, scheduled_time, *loc)
        except Invalid as error:
            if error.is_out_of_range:
                raise
            raise Impossible(f"{error.sentence}.") from None
        operation = modality.name_action(full) or ""
        missing = [name for name in modality.event_fields.get(operation, ()) if full.get(name) in (None, [])]
        if missing:
            raise Impossible(f"{'.'.join(map(str, loc))}: {operation} needs {', '.join(missing)}.")
        return modality, full

    def schedule(
        self,
        name: str,
        data: JsonObject,
        scheduled_time: str,
        *,
        author: Author,
        priority: int,
        metadata: JsonObject,
        loc: tuple[str | int, ...] = ("body", "data"),
    ) -> Event:
        """Add an event for later. Raises the errors of ``check_event``."""
        modality, full = self.check_event(name, data, scheduled_time, *loc)
        return self._enter(modality, full, scheduled_time, priority, author, metadata)

    def schedule_now(self, name: str, data: JsonObject, author: Author) -> Event:
        """Add an event at the current time, which runs when the clock next moves. Raises the errors of ``schedule``."""
        return self.schedule(name, data, self.clock.text, author=author, priority=ACTION_PRIORITY, metadata={})

    def act(
        self, modality: Modality, action: Action, request: Any, author: Author, allowance: Allowance | None = None
    ) -> JsonObject:
        """Carry out an action as an event and return its ``ModalityActionResponse``.

        Raises Invalid (422), or TooLarge (413) if the author's allowance has no room for it.
        """
        fields = (
            request.model_dump(exclude_none=True)
            if action.build is None
            else action.build(request, self.states[modality.name])
        )
        if modality.discriminator is not None and action.operation is not None:
            fields = {modality.discriminator: action.operation, **fields}
        full = self.check_data(modality, fields, self.clock.text, "body")
        if allowance is not None:
            allowance.grow(EVENT_BYTES + len(orjson.dumps(full)))
        event = self._enter(modality, full, self.clock.text, ACTION_PRIORITY, author, {})
        if allowance is None:
            self.execute(event)
        else:
            room = allowance.room
            remaining = self.execute(event, room)
            if remaining is None:
                raise allowance.fill()
            allowance.grow(room - remaining)
        message = event["error_message"]
        if event["status"] == EXECUTED:
            message = f"{modality.name} {action.path} executed"
            if action.detail is not None:
                message = f"{message}, {action.detail(self.states[modality.name])}"
        return {
            "event_id": event["event_id"],
            "scheduled_time": event["scheduled_time"],
            "status": event["status"],
            "message": message,
            "modality": modality.name,
        }

    def execute(self, event: Event, room: int | None = None) -> int | None:
        """Run one pending event. Its status becomes executed or failed; a failed event changes nothing else.

        With ``room``, the event may write that number of bytes. Returns the remaining number, or None if they weren't
        enough.
        """
        self.note_change()
        modality = MODALITIES[event["modality"]]
        now = event["scheduled_time"]
        state = self.states[modality.name]
        index = self._indexes[modality.name]
        change = Change(state, now, self.ids.draw, self._neighbours(modality), index=index, room=room)
        remaining = room
        self.parts.touch_event(event["event_id"])
        self._memos[modality.name].clear()
        try:
            modality.run(change, modality.input.model_validate(event["data"]))
            change.put(("update_count",), state["update_count"] + 1)
            change.put(("last_updated",), now)
        except OperationFailed as error:
            self._fail(event, change, str(error))
        except OutOfRoom:
            remaining = None
            self._fail(event, change, "it would write more than its author may in this turn")
        except ValidationError as error:
            self._fail(event, change, Invalid(convert_errors(error, "data")).sentence)
        except Exception as error:
            # A defect in one operation must not stop the clock for later events.
            logger.exception("event %s (%s) failed unexpectedly", event["event_id"], modality.name)
            self._fail(event, change, f"unexpected {type(error).__name__}: {error}")
        else:
            remaining = change.room
            self.events.set_status(event, EXECUTED)
            self._remember(event, modality, change.undo_patch())
        event["executed_at"] = self.clock.text
        return remaining

    def _fail(self, event: Event, change: Change, reason: str) -> None:
        change.roll_back()
        change.index.clear()
        event["error_message"] = reason
        self.events.set_status(event, FAILED)

    def _remember(self, event: Event, modality: Modality, patch: Patch) -> None:
        self.parts.touch_state(modality.name, patch)
        self.parts.touch_place("undo", len(self.undo_stack))
        self.parts.touch_place("redo", 0)
        self.undo_stack.append(
            {
                "event_id": event["event_id"],
                "modality": modality.name,
                "action": modality.name_action(event["data"]),
                "patch": patch,
            }
        )
        self.redo_stack.clear()

    def find_event(self, event_id: str) -> Event:
        event = self.events.by_id.get(event_id)
        if event is None:
            raise NotFound(f"There is no event {event_id[:80]!r}.")
        return event

    def cancel(self, event_id: str) -> Event:
        """Remove a pending event from the queue. Raises NotFound (404) or Conflict (409, no longer pending)."""
        event = self.find_event(event_id)
        if event["status"] != PENDING:
            raise Conflict(f"Event {event_id!r} is {event['status']}; only a pending event can be deleted.")
        self.note_change()
        self.parts.touch_event(event_id)
        self.events.set_status(event, CANCELLED)
        return event

    def find_next_event(self) -> Event:
        """Return the pending event that runs first. Raises NotFound (404)."""
        event = self.events.find_next()
        if event is None:
            raise NotFound("There is no pending event.")
        return event

    # --- time -----------------------------------------------------------------------------------------------------

    def refuse_if_held(self) -> None:
        """Raise Conflict (409) while a hold is active."""
        active = self.holds.list_active()
        if active:
            raise Conflict(
                {
                    "message": f"{len(active)} active hold(s) keep the clock still; release them or let them expire.",
                    "active_holds": active,
                }
            )

    def _begin_to_move(self) -> None:
        """Begin a participant's turn. Raises Conflict (409, held) or Impossible (400, stopped)."""
        self.refuse_if_held()
        if not self.is_running:
            raise Impossible("The simulation is stopped; start it before moving its clock.")
        self.allowance.renew()

    def _run_until(self, moment: datetime) -> list[Event]:
        """Run everything due by ``moment`` in order, each at its own time, and leave the clock at ``moment``."""
        self.note_change()
        limit = to_text(moment)
        ran = []
        while (event := self.events.find_next()) is not None and event["scheduled_time"] <= limit:
            if event["scheduled_time"] > self.clock.text:
                self.clock.move_to_text(event["scheduled_time"])
            self.execute(event)
            ran.append(event)
        self.clock.move(moment)
        return ran

    def let_pass(self, course: Course, seconds: float) -> None:
        """Move the clock by a request's cost, and run due events. A held or stopped clock doesn't move."""
        if seconds and self.is_running and not self.holds.list_active():
            ran = self._run_until(shift(self.clock.moment, seconds))
            course.events_executed += sum(event["status"] == EXECUTED for event in ran)

    def advance(self, seconds: float) -> list[Event]:
        """Move the clock forward and return the events that ran.

        Raises Conflict (409, held) or Impossible (400: stopped, paused, past the year 9999).
        """
        self._begin_to_move()
        if self.clock.is_paused:
            raise Impossible("The clock is paused; resume it before moving it on.")
        return self._run_until(shift(self.clock.moment, seconds))

    def set_time(self, target: str) -> list[Event]:
        """Move the clock to an instant, and run all events due by then.

        Raises Conflict (409, held) or Impossible (400: stopped, or a past instant).
        """
        self._begin_to_move()
        if target < self.clock.text:
            raise Impossible(
                f"target_time {target} lies before the simulator's time {self.clock.text}; time runs forwards only."
            )
        return self._run_until(from_text(target))

    def skip_to_next(self) -> list[Event]:
        """Move the clock to the next pending event and run all events due then.

        Raises Conflict (409, held), Impossible (400, stopped) or NotFound (404, no pending event).
        """
        self._begin_to_move()
        upcoming = from_text(self.find_next_event()["scheduled_time"])
        return self._run_until(max(upcoming, self.clock.moment))

    def catch_up(self) -> None:
        """With auto-advance on, move the clock to the time that the wall clock gives."""
        clock = self.clock
        if not (self.is_running and clock.auto_advance):
            return
        wall = wall_now()
        still = clock.is_paused or bool(self.holds.list_active())
        target = clock.moment if still else clock.find_target(wall, self.holds.still_until)
        clock.last_wall, self.holds.still_until = wall, None
        if target > clock.moment:
            self._run_until(target)

    def set_scale(self, scale: float) -> None:
        """Let auto-advance run ``scale`` simulated seconds per second."""
        self.note_change()
        self.clock.time_scale = scale

    def set_paused(self, paused: bool) -> None:
        """Stop or resume auto-advance. The clock can still be moved by hand."""
        self.note_change()
        self.clock.is_paused = paused
        self.clock.last_wall = wall_now()

    def start(self, *, auto_advance: bool, time_scale: float) -> None:
        """Start running. Raises Conflict (409) if it is running already."""
        if self.is_running:
            raise Conflict("The simulation is running already; stop it first.")
        self.note_change()
        self.is_running = True
        self.clock.auto_advance = auto_advance
        self.clock.time_scale = time_scale
        self.clock.is_paused = False
        self.clock.last_wall = wall_now()

    def stop(self) -> None:
        """Stop running; without effect if it isn't running."""
        if self.is_running:
            self.note_change()
            self.is_running = False
            self.clock.auto_advance = False

    # --- history --------------------------------------------------------------------------------------------------

    def undo(self, count: int) -> list[Step]:
        """Undo the effects of up to ``count`` executed events, newest first. The events stay in the log."""
        return self._move("undo", "redo", count)

    def redo(self, count: int) -> list[Step]:
        """Redo up to ``count`` undone effects, in the order in which they happened."""
        return self._move("redo", "undo", count)

    def _move(self, source_name: str, target_name: str, count: int) -> list[Step]:
        stacks = {"undo": self.undo_stack, "redo": self.redo_stack}
        source, target = stacks[source_name], stacks[target_name]
        moved: list[Step] = []
        while source and len(moved) < count:
            self.note_change()
            step = source.pop()
            self.parts.touch_state(step["modality"], step["patch"])
            self.parts.touch_place(source_name, len(source))
            self.parts.touch_place(target_name, len(target))
            self._memos[step["modality"]].clear()
            self._indexes[step["modality"]].clear()
            target.append({**step, "patch": apply_patch(self.states[step["modality"]], step["patch"])})
            moved.append(step)
        return moved

    def reset(self) -> tuple[int, int]:
        """Undo everything, make every event pending again, and stop.

        The clock keeps its time and scale and is not paused. Events before its time run when it next moves.

        Returns the number of events, all pending now, and the number of undone ones.
        """
        self.note_change()
        self.stop()
        undone = len(self.undo(len(self.undo_stack)))
        self.redo_stack.clear()
        self.parts.touch_place("redo", 0)
        events = self.events.list_all()
        for event in events:
            event.update(status=PENDING, executed_at=None, error_message=None)
        self.events = EventLog(events)
        self.clock.is_paused = False
        return len(events), undone

    def clear(self, reset_time_to: str | None) -> int:
        """Remove all events, empty all modalities, end all holds, and stop. Returns the number of removed events."""
        self.note_change()
        self.stop()
        removed = len(self.events)
        if reset_time_to is not None:
            self.clock.move_to_text(reset_time_to)
        self.replace_states({})
        self.replace_events([])
        self.holds.clear()
        self.scenario_metadata = {}
        return removed

    def replace_events(self, events: list[Event]) -> None:
        """Replace the events. The undo history of the old ones is removed."""
        self.note_change()
        self.events = EventLog(events)
        self.undo_stack = []
        self.redo_stack = []
