"""A simulation is set up from its scenario, closed when the turns are over, and ended."""

import asyncio
import logging
from datetime import datetime
from typing import Any

from pydantic_core import from_json, to_json
from temporalio import activity

from activities import failures
from activities.deployment import Deployment
from activities.plan import ConcludeInput, Evidence, JudgeRecord, Plan, Prepared
from activities.simulations.hosts import Step
from activities.simulations.states import snapshot
from proctor_protocol.messages import CalendarSummary, ChatSummary, EmailSummary, InitialStateSummary, SMSSummary
from proctor_protocol.modalities import SUMMARISED
from proctor_protocol.results import AssessmentResults
from proctor_storage.blobs import BlobRef
from purple_sdk.ues import AsyncUESClient, BadRequestError, ValidationError_

_REMOVAL_SECONDS = 1.5
"""How long the end of an assessment may wait for its simulation's end; after that, whoever tidies up ends it."""

log = logging.getLogger(__name__)


class LifecycleActivities:
    """Everything that is done to a simulation as a whole."""

    def __init__(self, deployment: Deployment) -> None:
        self._deployment = deployment
        self._removing: set[asyncio.Task[None]] = set()

    @activity.defn
    async def set_up(self, plan: Plan) -> Prepared:
        """Make the simulation, load the scenario, make the keys, start the clock's day."""
        initial_state = from_json(await self._deployment.store.get(plan.initial_state))
        simulator = await self._deployment.choose_simulator()
        simulations = self._deployment.simulations.at(simulator)
        simulation = await simulations.create(plan.simulation_id, plan.seed)
        try:
            await simulation.admin.scenario.import_full(at_time(initial_state, plan.start_time))
        except (BadRequestError, ValidationError_) as problem:
            raise failures.final(
                failures.SCENARIO_BROKEN,
                f"The initial_state of scenario {plan.scenario_id} can't be loaded: {problem}",
            ) from None
        await simulation.make_reader_key()
        await simulation.admin.simulation.start()
        states = await snapshot(simulation.admin)
        return Prepared(
            checkpoint=await simulations.keep(simulation, everything=True),
            initial_state=await self._deployment.store.put(to_json(states)),
            current_time=plan.start_time,
            summary=await summarise(simulation.admin, plan.start_time, states),
            simulator=simulator,
        )

    @activity.defn
    async def conclude(self, given: ConcludeInput) -> Evidence:
        """Revoke the participant's key, and keep what the judges will look at."""
        found, checkpoint = await self._deployment.simulations_of(given.plan).step(
            given.plan.simulation_id, given.checkpoint, Step(closes=True, shows_all=True)
        )
        record = JudgeRecord(
            action_log=given.action_log,
            turn_notes=given.turn_notes,
            initial_state=from_json(await self._deployment.store.get(given.initial_state)),
            final_state=found.states,
        )
        return Evidence(
            checkpoint=checkpoint, record=await self._deployment.store.put(record.model_dump_json().encode())
        )

    @activity.defn
    async def keep_results(self, results: AssessmentResults) -> BlobRef:
        """Put the results of an assessment that has none in Temporal into the store, as JSON."""
        return await self._deployment.store.put(results.model_dump_json().encode())

    @activity.defn
    async def take_down(self, simulation_id: str) -> None:
        """End the simulation; the participant's key dies with it, and no attempt of before can bring it back.

        A simulator that doesn't answer keeps no assessment from ending: the removal goes on, and should it fail, the
        worker's tidying is left to do it.
        """
        removing = asyncio.create_task(self._deployment.simulations.end(simulation_id))
        self._removing.add(removing)
        removing.add_done_callback(self._removing.discard)
        await asyncio.wait({removing}, timeout=_REMOVAL_SECONDS)
        if removing.done():
            removing.result()
        else:
            log.warning("the simulator has not ended %s yet: not waiting for it", simulation_id)


def at_time(initial_state: dict[str, Any], start: datetime) -> dict[str, Any]:
    """A UES scenario whose clock stands at ``start`` and moves only when told to."""
    environment = dict(initial_state.get("environment") or {})
    environment["time_state"] = {
        **(environment.get("time_state") or {}),
        "current_time": start.isoformat(),
        "last_wall_time_update": start.isoformat(),
        "time_scale": 1.0,
        "is_paused": False,
        "auto_advance": False,
    }
    return {**initial_state, "environment": environment}


async def summarise(client: AsyncUESClient, now: datetime, states: dict[str, Any] | None = None) -> InitialStateSummary:
    """Count what is there (seed 000, section 2.1); ``events_today`` are the events that touch the simulated day."""
    if states is None:
        states = await snapshot(client)  # of what this simulator has: it may know fewer modalities than we count
    email, sms, calendar, chat = (states.get(name) or {} for name in SUMMARISED)
    emails = list((email.get("emails") or {}).values())
    messages = list((sms.get("messages") or {}).values())
    events = list((calendar.get("events") or {}).values())
    chat_messages = chat.get("messages") or []
    return InitialStateSummary(
        email=EmailSummary(
            total_emails=len(emails),
            total_threads=len(email.get("threads") or {}),
            unread=sum(1 for mail in emails if not mail.get("is_read")),
            draft_count=len(email.get("drafts") or {}),
        ),
        calendar=CalendarSummary(
            event_count=len(events),
            calendar_count=len(calendar.get("calendars") or {}),
            events_today=sum(1 for event in events if _touches_day(event, now)),
        ),
        sms=SMSSummary(
            total_messages=len(messages),
            total_conversations=len(sms.get("conversations") or {}),
            unread=sum(1 for m in messages if not m.get("is_read") and m.get("direction") == "incoming"),
        ),
        chat=ChatSummary(
            total_messages=len(chat_messages),
            conversation_count=len({m.get("conversation_id", "default") for m in chat_messages}),
        ),
    )


def _touches_day(event: dict[str, Any], now: datetime) -> bool:
    start, end = (datetime.fromisoformat(event[key]).astimezone(now.tzinfo) for key in ("start", "end"))
    return start.date() <= now.date() <= end.date()
