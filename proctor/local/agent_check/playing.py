"""The miniature assessment: two turns with everything that may happen to an agent, recorded as evidence."""

import asyncio
import time
import uuid
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from importlib.resources import files
from typing import Any
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict
from temporalio.exceptions import ApplicationError

from proctor.activities.attempts import failures
from proctor.activities.participant import Answer, ParticipantClients, message_id
from proctor.activities.scenario_code.initial_states import at_time
from proctor.activities.simulation.action_log import entries_from_events
from proctor.activities.simulation.hosts import Claim, Simulation
from proctor.activities.simulation.keys import PARTICIPANT, admin_key, host_key, reader_key
from proctor.activities.simulation.lifecycle import summarise
from proctor.activities.simulation.shared_host import SharedHost
from proctor.common.errors import UnreachableError
from proctor.common.settings import LOOPBACK
from proctor.local.agent_check.watch import SeenRequest, Watch
from proctor.settings.config import GreenAgentConfig
from proctor.storage.blobs import blob_ref
from purple_sdk.processes.http_clients import make_http_client
from purple_sdk.protocol.messages import (
    AssessmentCompleteMessage,
    AssessmentStartMessage,
    EarlyCompletionMessage,
    FromParticipant,
    ToParticipant,
    TurnStartMessage,
)
from purple_sdk.protocol.results import ActionLogEntryWithTurn
from purple_sdk.settings.config import merge_configs

FIRST, OTHER = "first", "other"
"""The two assessments that are played side by side."""

_CANCELLED_WITHIN = 5.0
_TASK_SHOWN_WITHIN = 3.0
_LOOK_EVERY, _LOOK_AGAIN = 0.02, 0.1


class Mail(BaseModel):
    model_config = ConfigDict(frozen=True)

    at: datetime
    data: dict[str, Any]


class Day(BaseModel):
    """The miniature scenario (``day.json``)."""

    model_config = ConfigDict(frozen=True)

    instructions: str
    start_time: datetime
    second_turn: datetime
    initial_state: dict[str, Any]
    mails: list[Mail]

    @classmethod
    def load(cls) -> "Day":
        return cls.model_validate_json(
            files("proctor.local.agent_check").joinpath("day.json").read_text(encoding="utf-8")
        )


@dataclass
class Exchange:
    """One message to the agent, and its results.

    Attributes:
        problem: why there is no good answer, as a sentence; None if the answer is good.
        kind: the kind of the problem (``proctor.activities.attempts.failures``).
        answer: the whole answer, if there is one.
        reply: the parsed answer to a turn.
        actions: the agent's actions in the simulation during the exchange, from its event log.
        requests: the agent's requests to the simulation during the exchange.
    """

    problem: str | None = None
    kind: str | None = None
    answer: Answer | None = None
    reply: FromParticipant | None = None
    seconds: float = 0.0
    actions: list[ActionLogEntryWithTurn] = field(default_factory=list)
    requests: list[SeenRequest] = field(default_factory=list)

    @property
    def is_late(self) -> bool:
        return self.kind == failures.TURN_TIMEOUT


@dataclass
class Evidence:
    """All observations, in the order of the steps; None for steps that didn't happen.

    Attributes:
        card_problem: why the card can't be used.
        greeted: the start message in each protocol version that was tried.
        astray: the agent's requests to the other assessment's simulation during turn 1. Empty if the agent only read
            there and also made requests to its own simulation.
        again: the message of turn 1, sent a second time.
        retry: turn 1 in a second try, from the turn's beginning.
        regreeted: the start message in mid-assessment, with a new key.
        second: turn 2, after ``regreeted``.
        cancelled: a turn of the other assessment, which is cancelled while it runs.
        is_task_known: whether the turn to cancel still ran, and its task was known.
        after_cancel: the agent's actions after the cancellation.
        after_end: the agent's requests to the simulations after their end.
    """

    timeout: float
    card_problem: str | None = None
    versions: list[str] = field(default_factory=list)
    greeted: dict[str, Exchange] = field(default_factory=dict)
    turn: Exchange | None = None
    astray: list[SeenRequest] = field(default_factory=list)
    again: Exchange | None = None
    retry: Exchange | None = None
    regreeted: Exchange | None = None
    second: Exchange | None = None
    cancelled: Exchange | None = None
    is_task_known: bool = False
    after_cancel: list[ActionLogEntryWithTurn] = field(default_factory=list)
    conclusion: Exchange | None = None
    after_end: list[SeenRequest] | None = None


class Table:
    """One assessment: its simulation, its context, and the connection to the agent."""

    def __init__(self, name: str, play: "Play", version: str | None) -> None:
        self._play = play
        self._version = version
        self.simulation_id = f"check-{name}"
        self.context_id = str(uuid.uuid4())
        self._fence = 0
        self.issue = 1
        self._known: set[str] = set()
        self.now = play.day.start_time
        self.simulation: Simulation
        self.task_id: str | None = None

    async def lay(self) -> None:
        day, self._fence = self._play.day, 1
        self.simulation = await self._play.host.create(self.simulation_id, 7, 1)
        await self.simulation.admin.scenario.import_full(at_time(day.initial_state, day.start_time))
        await self.simulation.make_reader_key()
        await self.simulation.admin.simulation.start()
        for mail in day.mails:
            at = max(mail.at, self.now)
            await self.simulation.admin.events.create(scheduled_time=at, modality="email", data=mail.data)
        await self.simulation.admin.time.advance(1)
        self.now = (await self.simulation.admin.time.get_state()).current_time
        await self.restore_checkpoint(await self.simulation.checkpoint())

    async def restore_checkpoint(self, content: bytes) -> None:
        """Reset the simulation to a checkpoint. After that, only the agent's key of ``issue`` opens it."""
        self._fence += 1

        async def give() -> bytes:
            return content

        mark = f"check {self._fence}"
        claim = Claim(self.simulation_id, self._fence, blob_ref(content), mark=mark, issue=self.issue)
        self.simulation = await self._play.host.claim(claim, give)
        self._known = {event["event_id"] for event in await self._events()}

    async def advance_clock(self, to: datetime) -> None:
        """Move the clock, and give the agent another key."""
        await self.simulation.admin.time.set_time(to)
        self.now, self.issue = to, self.issue + 1
        await self.restore_checkpoint(await self.simulation.checkpoint())

    async def start_message(self, resumes_turn: int | None = None) -> AssessmentStartMessage:
        access = self.simulation.make_access(self.issue)
        return AssessmentStartMessage(
            ues_url=access.address,
            api_key=access.secret,
            mcp_url=access.mcp,
            assessment_instructions=self._play.day.instructions,
            current_time=self.now,
            initial_state_summary=await summarise(self.simulation.admin, self.now),
            resumes_turn=resumes_turn,
        )

    async def greet(self, resumes_turn: int | None = None) -> Exchange:
        return await self._say(await self.start_message(resumes_turn), f"start {self.issue}")

    async def turn(self, number: int, attempt: int = 1) -> Exchange:
        turn = TurnStartMessage(turn_number=number, current_time=self.now, events_processed=1, attempt=attempt)
        return await self._say(turn, f"turn {number} try {attempt}", number)

    async def end(self) -> Exchange:
        return await self._say(AssessmentCompleteMessage(reason="scenario_complete"), "complete")

    @property
    def has_task(self) -> bool:
        return self.task_id is not None

    async def cancel(self) -> None:
        async with self._play.clients.talk(self._play.url, self.context_id, self._version) as participant:
            await participant.cancel(self.task_id or "")

    async def find_actions(self, turn: int) -> list[ActionLogEntryWithTurn]:
        """The agent's actions since the last call."""
        events = [event for event in await self._events() if event["event_id"] not in self._known]
        self._known |= {event["event_id"] for event in events}
        return entries_from_events([{**event, "agent_id": PARTICIPANT} for event in events], PARTICIPANT, turn)

    async def _events(self) -> list[dict[str, Any]]:
        page = await self.simulation.admin.events.list(limit=1000)
        events = [event.model_dump(mode="json") for event in page.events]
        return [event for event in events if (event.get("agent_id") or "").startswith(PARTICIPANT)]

    async def _say(self, message: ToParticipant, step: str, turn: int = 0) -> Exchange:
        exchange, play = Exchange(), self._play
        first, began = len(play.watch.seen), time.monotonic()
        try:
            async with (
                asyncio.timeout(play.timeout),
                play.clients.talk(play.url, self.context_id, self._version) as participant,
            ):
                answer = await participant.send(message, message_id(self.context_id, step), self._note_task)
                if answer.may_have_refused and participant.line.takes_data and not turn:  # as the evaluator does
                    participant.line.takes_data = False
                    step_as_text = message_id(self.context_id, step, "text")
                    answer = await participant.send(message, step_as_text, self._note_task)
                exchange.answer = answer
                answer.require_success()
                if turn:
                    exchange.reply = answer.to_turn()
        except TimeoutError:
            exchange.kind = failures.TURN_TIMEOUT
            exchange.problem = f"no answer to {message.message_type} within {play.timeout:g} s"
        except ApplicationError as error:
            exchange.kind, exchange.problem = error.type, error.message
        exchange.seconds = time.monotonic() - began
        seen = play.watch.seen[first:]
        exchange.requests = [request for request in seen if request.simulation_id == self.simulation_id]
        if turn:
            exchange.actions = await self.find_actions(turn)
        return exchange

    async def _note_task(self, answer: Answer) -> None:
        self.task_id = answer.task_id


class Play:
    """A play of the miniature assessment.

    Args:
        config: settings with the simulator's address; ``watch`` is in front of that simulator.
        timeout: seconds that the agent has for each message.
        settle: seconds to wait for actions of an agent that ignores an order to stop.
    """

    def __init__(self, url: str, config: GreenAgentConfig, watch: Watch, timeout: float, settle: float) -> None:
        self.url, self.watch, self.timeout, self._settle = url, watch, timeout, settle
        self.day = Day.load()
        self._secret = config.secret.get_secret_value()
        # No other service runs here, so an agent may use the port that is usually the gateway's.
        port = urlsplit(config.ues_url).port
        own = {"port": port, "temporal_address": f"{LOOPBACK}:{port}", "temporal_ui_url": None, "card_url": None}
        config = merge_configs(config, own)
        self._http = make_http_client()
        self.host = SharedHost(config, self._http)
        self.clients = ParticipantClients(config)

    async def play(self) -> Evidence:
        """Play all steps, as far as possible."""
        evidence = Evidence(self.timeout)
        ids = [f"check-{name}" for name in (FIRST, OTHER)]
        self.watch.own_keys = {host_key(self._secret)} | {
            make(self._secret, simulation_id) for simulation_id in ids for make in (admin_key, reader_key)
        }
        try:
            if await self._read_card(evidence):
                await self._play(evidence)
        finally:
            self.watch.held_simulation = None
            await self.clients.aclose()
            await self._http.aclose()
        return evidence

    async def _read_card(self, evidence: Evidence) -> bool:
        try:
            async with asyncio.timeout(self.timeout), self.clients.talk(self.url, "card") as participant:
                evidence.versions = [v for v in ("1.0", "0.3") if v in participant.protocol_versions]
        except TimeoutError:
            raise UnreachableError(
                f"no server answers at {self.url} within {self.timeout:g} s: is the agent up?"
            ) from None
        except ApplicationError as error:
            if error.type == failures.PARTICIPANT_UNREACHABLE:
                raise UnreachableError(f"{error.message} Is the agent up, and is this its address?") from None
            evidence.card_problem = error.message
            return False
        return True

    async def _play(self, evidence: Evidence) -> None:
        versions: list[str | None] = [*evidence.versions] or [None]
        tables, greetings = [], []
        for name, version in zip((FIRST, OTHER), (versions * 2)[:2], strict=True):
            tables.append(Table(name, self, version))
            await tables[-1].lay()
            greetings.append(await tables[-1].greet())
            evidence.greeted.setdefault(version or "", greetings[-1])
        first, other = tables
        if greetings[0].problem is None:
            await self._play_turns(evidence, first, other)
        if evidence.turn is not None and evidence.turn.reply is not None and greetings[1].problem is None:
            await self._cancel(evidence, other)
        for table, greeting in zip(tables, greetings, strict=True):
            if greeting.problem is None:
                conclusion = await table.end()
                evidence.conclusion = evidence.conclusion or conclusion
        if evidence.conclusion is not None:
            seen = len(self.watch.seen)
            await self._until(lambda: len(self.watch.seen) > seen, self._settle)
            evidence.after_end = self.watch.seen[seen:]

    async def _play_turns(self, evidence: Evidence, first: Table, other: Table) -> None:
        start = await first.simulation.checkpoint()
        seen = len(self.watch.seen)
        evidence.turn = await first.turn(1)
        requests = [request for request in self.watch.seen[seen:] if request.simulation_id == other.simulation_id]
        if await other.find_actions(1) or (requests and not evidence.turn.requests):
            evidence.astray = requests
        if evidence.turn.reply is None or evidence.astray:
            return
        evidence.again = await first.turn(1)
        played = await first.simulation.checkpoint()
        await first.restore_checkpoint(start)
        evidence.retry = await first.turn(1, attempt=2)
        if isinstance(evidence.turn.reply, EarlyCompletionMessage):
            return
        if evidence.retry.reply is None:  # the agent failed here: the next steps begin where the first try ended
            await first.restore_checkpoint(played)
        await first.advance_clock(self.day.second_turn)
        evidence.regreeted = await first.greet(resumes_turn=2)
        if evidence.regreeted.problem is None:
            evidence.second = await first.turn(2)

    async def _cancel(self, evidence: Evidence, table: Table) -> None:
        table.task_id = None
        waiting = self.watch.waiting
        self.watch.held_simulation = table.simulation_id
        turn = asyncio.create_task(table.turn(1))
        try:
            await self._until(lambda: turn.done() or self.watch.waiting > waiting, self.timeout)
            # An agent that answers without a task, or shows the task only at its end, can't be cancelled.
            await self._until(lambda: turn.done() or table.has_task, _TASK_SHOWN_WITHIN)
            if turn.done() or not table.has_task:
                return
            evidence.is_task_known = True
            with suppress(TimeoutError, ApplicationError):  # the outcome is read from the task
                async with asyncio.timeout(_CANCELLED_WITHIN):
                    await table.cancel()
            await asyncio.wait({turn}, timeout=min(_CANCELLED_WITHIN, self.timeout))
            self.watch.held_simulation = None
            end = time.monotonic() + self._settle
            while not evidence.after_cancel and time.monotonic() < end:
                await asyncio.sleep(_LOOK_AGAIN)
                evidence.after_cancel = await table.find_actions(1)
        finally:
            self.watch.held_simulation = None
            evidence.cancelled = await turn
            evidence.after_cancel = [*evidence.after_cancel, *evidence.cancelled.actions]

    async def _until(self, is_so: Callable[[], bool], seconds: float) -> None:
        end = time.monotonic() + seconds
        while not is_so() and time.monotonic() < end:  # noqa: ASYNC110 - another thread changes it
            await asyncio.sleep(_LOOK_EVERY)
