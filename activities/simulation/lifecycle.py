"""The activities that set up a simulation from its scenario, close it after the last turn, and end it."""

import asyncio
import hashlib
import logging
from collections.abc import Iterable
from datetime import datetime
from typing import Any

from pydantic_core import from_json
from temporalio import activity

from proctor.activities.attempts import failures
from proctor.activities.attempts.fencing import own_fence
from proctor.activities.plan import Plan
from proctor.activities.scenario_code.evidence import JudgeRecord
from proctor.activities.scenario_code.initial_states import at_time
from proctor.activities.scenario_code.manager import ScenarioError
from proctor.activities.scenario_code.scenarios import Scenarios
from proctor.activities.simulation.background import background_messages
from proctor.activities.simulation.hosts import Step
from proctor.activities.simulation.payloads import ConcludeInput, Evidence, Prepared
from proctor.activities.simulation.shown import Shown, below
from proctor.activities.simulation.simulations import Simulations
from proctor.activities.simulation.states import snapshot
from proctor.protocol.roles import is_of_role
from proctor.storage.blobs import BlobRef, BlobStore
from purple_sdk.protocol.messages import CalendarSummary, ChatSummary, EmailSummary, InitialStateSummary, SMSSummary
from purple_sdk.protocol.results import AssessmentResults
from purple_sdk.ues import AsyncUESClient, BadRequestError, ValidationError_

_REMOVAL_SECONDS = 1.5
"""The longest wait, in seconds, of an assessment's end for its simulation's end. After that, the removal continues
alone.
"""

_LARGE = 1_000_000
"""Bytes of an initial state. A larger one passes through the worker in pieces."""

log = logging.getLogger(__name__)


class LifecycleActivities:
    def __init__(self, store: BlobStore, scenarios: Scenarios, simulations: Simulations) -> None:
        self._store = store
        self._scenarios = scenarios
        self._simulations = simulations
        self._removing: set[asyncio.Task[None]] = set()

    @activity.defn
    async def set_up(self, plan: Plan) -> Prepared:
        """Make the simulation, load the scenario, make the keys, set the clock to the day's beginning."""
        store = self._store
        simulator = await self._simulations.choose_server()
        simulations = self._simulations.at(simulator)
        simulation = await simulations.create(plan.simulation_id, _derive_seed(plan))
        try:
            if plan.initial_state.size > _LARGE:
                await simulation.load(self._scenarios.read_initial_state(plan))
            else:
                initial_state = from_json(await store.get(plan.initial_state))
                await simulation.admin.scenario.import_full(at_time(initial_state, plan.start_time))
        except (BadRequestError, ValidationError_, ScenarioError) as error:
            raise failures.SCENARIO_BROKEN.final(
                f"The initial_state of scenario {plan.scenario_id} can't be loaded: {error}"
            ) from None
        await simulation.make_reader_key()
        await simulation.check_public_address()
        await simulation.admin.simulation.start()
        checkpoint = await simulations.keep(simulation, everything=True)
        if plan.noise:
            checkpoint = await self._schedule_background(simulations, plan, checkpoint)
        shown = await simulations.show(simulation, plan.simulation_id, checkpoint)
        return Prepared(
            checkpoint=checkpoint,
            initial_state=await store.put(shown.written()),
            current_time=plan.start_time,
            summary=await asyncio.to_thread(count_items, shown, plan.start_time),
            simulator=simulator,
        )

    async def _schedule_background(self, simulations: Simulations, plan: Plan, checkpoint: BlobRef) -> BlobRef:
        scenario = await self._scenarios.load_scenario(plan.scenario)
        mails = background_messages(scenario, plan.seed, plan.noise, plan.start_time, plan.end_time)
        _, reached = await simulations.step(plan.simulation_id, checkpoint, Step(events=tuple(mails)))
        return reached

    @activity.defn
    async def conclude(self, payload: ConcludeInput) -> Evidence:
        """Revoke the participant's key, and store the evidence for the judges."""
        stepped, checkpoint = await self._simulations.of(payload.plan).step(
            payload.plan.simulation_id, payload.checkpoint, Step(closes=True, shows_all=True)
        )
        store = self._store
        initial, final = Shown.read(store, await store.get(payload.initial_state)), Shown.of(store, stepped)
        record = JudgeRecord(
            action_log=payload.action_log,
            turn_notes=payload.turn_notes,
            initial_state=initial.states,
            final_state=final.states,
            parts=[*below(initial.listed, "initial_state"), *below(final.listed, "final_state")],
        )
        kept = await store.put(record.model_dump_json().encode())
        return Evidence(checkpoint=checkpoint, record=kept, fence=own_fence())

    @activity.defn
    async def keep_results(self, results: AssessmentResults) -> BlobRef:
        """Store the results of an assessment as JSON, for results that are too large for Temporal."""
        return await self._store.put(results.model_dump_json().encode())

    @activity.defn
    async def take_down(self, simulation_id: str) -> None:
        """End the simulation and with it the participant's key. No earlier attempt can restore it.

        A simulator that doesn't answer doesn't delay the assessment's end: the removal continues. If it fails, the
        worker's cleanup ends the simulation.
        """
        removing = asyncio.create_task(self._simulations.end(simulation_id))
        self._removing.add(removing)
        removing.add_done_callback(self._removing.discard)
        await asyncio.wait({removing}, timeout=_REMOVAL_SECONDS)
        if removing.done():
            removing.result()
        else:
            log.warning("the simulator has not ended %s yet: not waiting for it", simulation_id)


def _derive_seed(plan: Plan) -> int:
    """Return the seed of a simulation's ids. It differs by role, since messages keep their ids between simulations."""
    if not is_of_role(plan.simulation_id):
        return plan.seed
    return int.from_bytes(hashlib.sha256(f"{plan.seed}/{plan.participant}".encode()).digest()[:6])


async def summarise(client: AsyncUESClient, now: datetime) -> InitialStateSummary:
    """Count a simulation's items. Modalities that the simulator lacks count as empty."""
    return count_items(Shown(await snapshot(client)), now)


def count_items(shown: Shown, now: datetime) -> InitialStateSummary:
    """Count the items (seed 000, section 2.1); ``events_today`` are the events that touch the simulated day.

    Don't call it in an event loop: a large mailbox may take a second.
    """
    total_emails = unread = total_messages = unread_messages = 0
    for mail in shown.entries("email", "emails"):
        total_emails += 1
        unread += not mail.get("is_read")
    for message in shown.entries("sms", "messages"):
        total_messages += 1
        unread_messages += not message.get("is_read") and message.get("direction") == "incoming"
    events = list(shown.entries("calendar", "events"))
    conversations = {message.get("conversation_id", "default") for message in shown.entries("chat", "messages")}
    return InitialStateSummary(
        email=EmailSummary(
            total_emails=total_emails,
            total_threads=_count(shown.entries("email", "threads")),
            unread=unread,
            draft_count=_count(shown.entries("email", "drafts")),
        ),
        calendar=CalendarSummary(
            event_count=len(events),
            calendar_count=_count(shown.entries("calendar", "calendars")),
            events_today=sum(1 for event in events if _touches_day(event, now)),
        ),
        sms=SMSSummary(
            total_messages=total_messages,
            total_conversations=_count(shown.entries("sms", "conversations")),
            unread=unread_messages,
        ),
        chat=ChatSummary(
            total_messages=_count(shown.entries("chat", "messages")), conversation_count=len(conversations)
        ),
    )


def _count(entries: Iterable[Any]) -> int:
    return sum(1 for _ in entries)


def _touches_day(event: dict[str, Any], now: datetime) -> bool:
    start, end = (datetime.fromisoformat(event[key]).astimezone(now.tzinfo) for key in ("start", "end"))
    return start.date() <= now.date() <= end.date()
