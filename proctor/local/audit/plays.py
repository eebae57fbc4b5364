"""Plays of an instance in this process: the real simulator and its HTTP API, without a network and without Temporal.

A play takes some hundredths of a second. ``tests/audit`` checks that a deployed evaluator gives the same points for the
same scripts.
"""

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import httpx
import orjson

from proctor.activities.characters import generator
from proctor.activities.characters.messages import OutgoingMessage
from proctor.activities.scenario_code import attached_files
from proctor.activities.simulation.background import background_messages
from proctor.activities.simulation.delivering import arrival_events
from proctor.activities.simulation.hosts import PlannedEvent, Stepped
from proctor.activities.simulation.keys import PARTICIPANT, USER_PERMISSIONS
from proctor.activities.simulation.payloads import TURN_SETTLES, Sent
from proctor.activities.simulation.settling import Settling
from proctor.language.facts import TextReader, reading
from proctor.protocol.evaluation import AgentBeatsEvalContext
from proctor.protocol.modalities import SHOWN
from proctor.protocol.nights import end_of_turn
from proctor.protocol.scenario import ScenarioConfig
from proctor.scenarios.kit.checks import DutyParams, Judgement, duties_of
from proctor.scenarios.kit.damage import Damage
from proctor.scenarios.kit.making.days import Day
from proctor.scenarios.kit.making.duty import Act
from proctor.scenarios.kit.making.wording import message
from proctor.storage.blobs import BlobRef
from proctor.ues import checkpoint, scenario
from proctor.ues.course import Course, TurnConditions
from proctor.ues.server import create_app
from proctor.ues.steps import ScheduledEvent, Step, carry_out
from proctor.ues.times import to_text
from purple_sdk.processes.http_clients import make_http_client
from purple_sdk.protocol.clocks import STANDING, read_clock
from purple_sdk.protocol.results import ActionLogEntryWithTurn
from purple_sdk.ues import AsyncUESClient, UESError
from purple_sdk.ues.errors import ServerError

_HOST_KEY = "the-host-key-of-the-audit"
_ADMIN_KEY = "the-admin-key-of-the-audit"
_SECRET = "the-key-of-the-audited-participant"
_NOWHERE = BlobRef(sha256="0" * 64, size=0)
_SEED = 7

Turn = Callable[[int, datetime, AsyncUESClient], Awaitable[None]]
"""A function that plays a turn. It gets the turn's number (from 0), its time, and the participant's client."""

Perform = Callable[..., Awaitable[None]]
"""A function that does one act, with the parameters of ``perform``."""


@dataclass(frozen=True)
class Outcome:
    """The outcome of a play.

    Attributes:
        held: checks' ids to whether the check holds.
        damage: changes that no duty explains, and their costs.
        points: criteria's ids to the earned points.
        maximum: the largest sum of points.
        attempted: checks' ids to whether the check was attempted.
        has_worked: whether enough work was done for gated checks to count.
        doubtful: the points that rules could not decide; ``points`` don't include them.
    """

    held: dict[str, bool]
    damage: Damage
    points: dict[str, int]
    maximum: int
    log: list[ActionLogEntryWithTurn]
    attempted: dict[str, bool]
    has_worked: bool
    doubtful: int = 0

    @property
    def share(self) -> float:
        """The share of all points, 0 to 1."""
        return sum(self.points.values()) / self.maximum


class Stage:
    """An instance that can be played repeatedly. If it has several participants, a stage is one participant's side.

    Attributes:
        sent: for each turn of the last play, the messages to users of other roles.
        arrivals: for each turn, the messages from other sides to this side; empty until ``hear``.
    """

    def __init__(self, day: Day) -> None:
        self.day = day
        self.sent: list[list[Sent]] = []
        self.arrivals: list[list[OutgoingMessage]] = [[] for _ in day.starts]
        content = self._content = day.scenario()
        self.duties = duties_of(content)
        self.criteria = {criterion["criterion_id"]: criterion["max_score"] for criterion in content["criteria"]}
        self.config = ScenarioConfig.admitted(content)
        app = create_app(host_key=_HOST_KEY)
        self._simulation = app.host.create("audited", _ADMIN_KEY, f"seed{day.role}")
        initial_state = orjson.loads(orjson.dumps(day.initial_state()))
        attached_files.insert_contents(initial_state, day.attached_files().get)
        scenario.import_full(self._simulation, initial_state, strict=True)
        self._simulation.start(auto_advance=False, time_scale=1.0)
        simulation = self._simulation
        simulation.keys.create(PARTICIPANT, PARTICIPANT, USER_PERMISSIONS, _SECRET, "admin", simulation.ids)
        _, self._beginning = checkpoint.take(self._simulation)
        self.before = self.states()
        self._http = make_http_client(transport=httpx.ASGITransport(app), base_url="http://simulator")
        self.client = self._new_client()

    async def play(self, player: Turn, *, clock: str = STANDING, noise: int = 0) -> Outcome:
        """Play the day from its beginning, under a clock and a level of noise (``purple_sdk.protocol.clocks``)."""
        simulation = self._simulation
        checkpoint.restore(simulation, self._beginning)
        mails = background_messages(self.config, self.day.seed, noise, self.day.start, self.day.end)
        carry_out(simulation, Step(events=list(map(_scheduled, mails))))
        log: list[ActionLogEntryWithTurn] = []
        self.sent, seconds = [], read_clock(clock).seconds
        for number, start in enumerate(self.day.starts):
            now = max(start, simulation.clock.moment)
            simulation.allowance = type(simulation.allowance)()
            conditions = TurnConditions(turn=number + 1, seed=self.day.seed, seconds=seconds, noise=noise)
            simulation.course, simulation.is_turn_over = Course(conditions) if seconds or noise else None, False
            # As in a rehearsal, a client is for one turn, and the client's own requests cost time, too.
            await player(number, now, self.client if simulation.course is None else self._new_client())
            log += await self._settle(number + 1, now)
        return self.outcome(log, self.states())

    async def hear(self, others: Iterable[tuple[Day, Turn]]) -> None:
        """Let the players of other sides play, and deliver their messages in every later play."""
        for other, player in others:
            stage = Stage(other)
            await stage.play(player)
            for arrivals, sent in zip(self.arrivals, stage.sent, strict=True):
                arrivals += [delivery.message for delivery in sent if delivery.role == self.day.role]

    def _new_client(self) -> AsyncUESClient:
        return AsyncUESClient("http://simulator/simulations/audited", _SECRET, http=self._http)

    def outcome(self, log: list[ActionLogEntryWithTurn], after: dict[str, Any]) -> Outcome:
        ctx = AgentBeatsEvalContext(None, self._content, log, self.before, after, user_prompt="")
        return judge(ctx, self.duties, self.criteria)

    async def _settle(self, turn: int, now: datetime) -> list[ActionLogEntryWithTurn]:
        settling = Settling(self.config, turn, now)
        found = Stepped.model_validate(
            carry_out(
                self._simulation,
                Step(ends_turn=True, to=to_text(now + TURN_SETTLES), actions_of=PARTICIPANT, actions_at=to_text(now)),
            )
        )
        applied = settling.outcome(found, _NOWHERE)
        self.sent.append(applied.sent)
        events = [_scheduled(event) for message in self.arrivals[turn - 1] for event in arrival_events(message)]
        for addressed in applied.addressed:
            sent = applied.messages[addressed.message]
            reply = await generator.respond(sent, addressed.character_id, self.config, None, _SEED, turn)
            if reply is not None:
                modality, data = generator.reply_event(reply, sent, self.config)
                at = sent.sent_at + timedelta(seconds=reply.delay_seconds)
                events.append(ScheduledEvent(scheduled_time=to_text(at), modality=modality, data=data))
        target = end_of_turn(now, self.day.step, self.config.nights, self.config.end_time)
        carry_out(self._simulation, Step(events=events, to=to_text(target)))
        return applied.actions

    def states(self) -> dict[str, Any]:
        """The states of all modalities as they are now, by modality."""
        found = carry_out(self._simulation, Step(states=list(SHOWN)))["states"]
        states: dict[str, Any] = orjson.loads(orjson.dumps(found))
        return states


def _scheduled(event: PlannedEvent) -> ScheduledEvent:
    at = to_text(event.scheduled_time)
    return ScheduledEvent(scheduled_time=at, modality=event.modality, data=event.data)


def judge(ctx: AgentBeatsEvalContext, duties: dict[str, DutyParams], criteria: dict[str, int]) -> Outcome:
    """The outcome of a day by its evidence; ``proctor.scenarios.kit.checks`` gives the points."""
    reader = TextReader()
    with reading(reader):
        judged = Judgement(ctx, duties)
        held, points = judged.outcomes, judged.points
    doubtful = 0
    if reader.doubts:
        with reading(TextReader(in_favour=True)):
            at_most = Judgement(ctx, duties).points
        doubtful = sum(max(0, most - points[key]) for key, most in at_most.items())
    return Outcome(
        held=held,
        damage=judged.damage,
        points=points,
        maximum=sum(criteria.values()),
        log=ctx.action_log,
        attempted=judged.attempted,
        has_worked=judged.has_worked,
        doubtful=doubtful,
    )


def make_player(
    acts: Iterable[Act],
    day: Day,
    *,
    voice: int = 0,
    late: bool = False,
    backwards: bool = False,
    do: "Perform | None" = None,
) -> Turn:
    """A player that does these acts, each in the first turn that the act's time permits.

    Args:
        voice: the number of the kit's voice that words the messages.
        late: do each act in the last turn that its time permits, not in the first.
        backwards: do the acts of a turn in the opposite order.
        do: does one act; ``perform`` by default.
    """
    due: dict[int, list[Act]] = {}
    for act in acts:
        fitting = [number for number, start in enumerate(day.starts) if act.at <= start <= act.until]
        if fitting:
            due.setdefault(fitting[-1 if late else 0], []).append(act)

    async def turn(number: int, now: datetime, client: AsyncUESClient) -> None:
        todo = due.get(number, [])
        for act in reversed(todo) if backwards else todo:
            await (do or perform)(act, day, client, voice)

    return turn


def make_request(act: Act, day: Day, voice: int = 0) -> tuple[str, dict[str, Any]]:
    """An act's request to the simulator: the action's name and its fields."""
    if act.action != "tell":
        fields = dict(act.fields)
        return act.action, {"role": "assistant", **fields} if act.action == "chat.send_message" else fields
    words = message(act, day.user, voice)
    if act.to is None or act.channel == "chat":
        return "chat.send_message", {"role": "assistant", "content": words["body"]}
    if act.channel == "text":
        return "sms.send", {"to_numbers": [act.to.phone], "body": words["body"]}
    return "email.send", {"to_addresses": [act.to.email], "subject": words["subject"], "body_text": words["body"]}


async def perform(act: Act, day: Day, client: AsyncUESClient, voice: int = 0) -> None:
    action, fields = make_request(act, day, voice)
    if action == "email.send" and act.action == "tell" and act.reply_to is not None:
        try:
            await client.email.reply(act.reply_to, body_text=fields["body_text"])
            return
        except ServerError:
            raise
        except UESError:  # the mail has not arrived yet: an early player writes a new mail
            pass
    room, _, name = action.partition(".")
    await getattr(getattr(client, room), {"mark_read": "read", "send_message": "send"}.get(name, name))(**fields)
