"""Try out a scenario's evaluators on an idle and on a busy participant, with and without a model.

The real simulator runs in this process. The evaluators run in separate processes, as in judging. The model is a fake
whose answers have the right shape, but no meaning.
"""

import json
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import httpx
from langchain_core.messages import AIMessage, message_to_dict
from pydantic_core import from_json

from proctor.activities.judging.judge import points_left_out
from proctor.activities.judging.verdicts import work_criterion
from proctor.activities.scenario_code.evidence import JudgeRecord
from proctor.activities.scenario_code.initial_states import at_time
from proctor.activities.scenario_code.manager import ScenarioPackage
from proctor.activities.scenario_code.processes import EvaluatorFailedError, EvaluatorRetryError, JudgeJob, ScenarioCode
from proctor.activities.scenario_code.tasks import JudgeTask
from proctor.activities.simulation.action_log import entries_from_events
from proctor.activities.simulation.hosts import Claim, Simulation, Step
from proctor.activities.simulation.keys import PARTICIPANT
from proctor.activities.simulation.payloads import TURN_SETTLES
from proctor.activities.simulation.shared_host import SharedHost
from proctor.activities.simulation.states import snapshot
from proctor.local.own_simulator import own_simulator
from proctor.protocol.scenario import EvaluationCriterion, ScenarioConfig
from proctor.settings.config import GreenAgentConfig
from proctor.storage.blobs import blob_ref
from purple_sdk.processes.http_clients import make_http_client
from purple_sdk.ues import AsyncUESClient, UESError

_FAR_AWAY = "9999-12-31T09:00:00+00:00"
_MAILS_HANDLED = 8


@dataclass
class Tried:
    """The result of the trial, as sentences. Faults have to be fixed, warnings have to be reviewed."""

    faults: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)


async def try_evaluators(package: ScenarioPackage, settings: GreenAgentConfig, code: ScenarioCode) -> Tried:
    """Run every evaluator on an empty and on a busy log, with and without a model, in the processes of ``code``."""
    tried = Tried()
    criteria = [
        judged
        for criterion in package.config.criteria
        if (judged := work_criterion(criterion) or criterion).evaluator_id
    ]
    if not criteria:
        return tried
    async with make_http_client() as http:
        with own_simulator(settings) as config:
            for log in ("an empty", "a busy"):
                simulation, record = await _played(package, config, http, is_busy=log == "a busy")
                for criterion in criteria:
                    await _try(tried, package, code, criterion, simulation, record, log)
    tried.faults[:] = dict.fromkeys(tried.faults)
    tried.warnings[:] = dict.fromkeys(tried.warnings)
    return tried


async def _try(
    tried: Tried,
    package: ScenarioPackage,
    code: ScenarioCode,
    criterion: EvaluationCriterion,
    simulation: Simulation,
    record: JudgeRecord,
    log: str,
) -> None:
    """Try one criterion on one log: first with the fake model, to see whether the evaluator asks it."""
    questions: list[Any] = []
    name = f"criterion {criterion.criterion_id}"

    async def ask(question: dict[str, Any]) -> bytes:
        if "facts" in question:  # patterns replace the model; without an answer, all checks are in doubt
            return json.dumps([None] * len(question["facts"])).encode()
        questions.append(question)
        return _make_answer(question)

    async def judge(has_model: bool) -> str | None:
        job = _make_job(package, simulation, record, has_model)
        try:
            await code.judge(job, criterion, ask)
        except (EvaluatorFailedError, EvaluatorRetryError) as error:
            return str(error)
        return None

    if (problem := await judge(has_model=True)) is not None:
        with_model = f"{name}, on {log} log with a model: {problem}"
        if questions:
            tried.warnings.append(f"{with_model} (the stand-in for a model has answered, which means nothing)")
        else:
            tried.faults.append(with_model)
    if points_left_out(criterion) == criterion.max_score:
        return
    problem = await judge(has_model=False)
    if problem is not None:
        tried.faults.append(f"{name}, on {log} log without a model: {problem}")
    elif questions and not criterion.needs_model_for:
        tried.warnings.append(
            f"{name}: evaluator {criterion.evaluator_id} asks a model if there is one, and scores all "
            f"{criterion.max_score} points without one. Set needs_model_for to the number of points that need the "
            "model: offline they then stay unscored."
        )


def _make_job(package: ScenarioPackage, simulation: Simulation, record: JudgeRecord, has_model: bool) -> JudgeJob:
    content = record.model_dump_json().encode()

    async def fetch() -> bytes:
        return content

    task = JudgeTask(
        directory=package.directory,
        scenario=package.config,
        simulation=simulation.reader.base_url,
        reader_key=simulation.reader_secret,
        has_model=has_model,
    )
    return JudgeJob(task=task, evidence=f"{blob_ref(content).sha256} {has_model}", fetch=fetch)


async def _played(
    package: ScenarioPackage, config: GreenAgentConfig, http: httpx.AsyncClient, *, is_busy: bool
) -> tuple[Simulation, JudgeRecord]:
    """Play one turn over the scenario's whole time. Return the simulation, and the evidence for judging."""
    scenario, host = package.config, SharedHost(config, http)
    simulation_id = f"trial-{'busy' if is_busy else 'empty'}"
    simulation: Simulation = await host.create(simulation_id, 7, 1)
    await simulation.admin.scenario.import_full(at_time(from_json(package.initial_state), scenario.start_time))
    await simulation.make_reader_key()
    await simulation.admin.simulation.start()
    states = await snapshot(simulation.admin)
    content = await simulation.checkpoint()
    if is_busy:
        simulation = await host.claim(
            Claim(simulation_id, 2, blob_ref(content), mark="turn 1", issue=1), _giving(content)
        )
        access = simulation.make_access(1)
        await _be_busy(AsyncUESClient(access.address, access.secret, http=http), scenario, states)
        content = await simulation.checkpoint()
    turn = Step(to=scenario.start_time + TURN_SETTLES, actions_at=scenario.start_time)
    result, content = await host.step(Claim(simulation_id, 3, blob_ref(content)), turn, _giving(content))
    actions = [{**action, "agent_id": PARTICIPANT} for action in result.actions]
    rest = Step(closes=True, to=scenario.end_time, shows_all=True)
    result, content = await host.step(Claim(simulation_id, 4, blob_ref(content)), rest, _giving(content))
    simulation = await host.claim(Claim(simulation_id, 4, blob_ref(content), looks=True), _giving(content))
    record = JudgeRecord(
        action_log=entries_from_events(actions, PARTICIPANT, 1),
        turn_notes={1: "I did what I could."} if is_busy else {},
        initial_state=states,
        final_state=result.states,
    )
    return simulation, record


def _giving(content: bytes) -> Callable[[], Awaitable[bytes]]:
    async def give() -> bytes:
        return content

    return give


async def _be_busy(ues: AsyncUESClient, scenario: ScenarioConfig, states: Mapping[str, Any]) -> None:
    """Do an action of every kind, likely and unlikely ones. Actions that don't fit the scenario are left out."""

    async def do(action: Awaitable[Any]) -> None:
        with suppress(UESError):
            await action

    for text in ("All done.", "", "½ 🙂 \u202e", "a" * 20_000):
        await do(ues.chat.send(role="assistant", content=text))
    for key, person in scenario.characters.items():
        if key != scenario.user_character and person.email:
            await do(ues.email.send(to_addresses=[person.email], subject="Thursday?", body_text="Does 10:30 suit you?"))
        if key != scenario.user_character and person.phone:
            await do(ues.sms.send(to_numbers=[person.phone], body="Running late."))
    emails = (states.get("email") or {}).get("emails") or {}
    for place, mail in enumerate(list(emails)[:_MAILS_HANDLED]):
        sender = str(emails[mail].get("from_address"))
        reply = ues.email.send(to_addresses=[sender], subject="Re:", body_text="Thank you.")
        for action in (ues.email.read([mail]), ues.email.star([mail]), reply):
            await do(action)
        await do(ues.email.delete([mail]) if place % 2 else ues.email.archive([mail]))
    start = scenario.start_time + timedelta(hours=2)
    await do(ues.calendar.create(title="", start=start.isoformat(), end=(start + timedelta(hours=1)).isoformat()))
    events = list((states.get("calendar") or {}).get("events") or {})
    for event in events[:1]:
        await do(ues.calendar.delete(event))
    for event in events[1:3]:
        await do(ues.calendar.update(event_id=event, start=_FAR_AWAY, end=_FAR_AWAY.replace("T09", "T10")))


def _make_answer(question: Mapping[str, Any]) -> bytes:
    """An answer of the requested shape."""
    options = question.get("options") or {}
    if tools := options.get("tools"):
        function = tools[0].get("function") or {}
        call = {"name": function.get("name"), "args": _example(function.get("parameters") or {}, {}), "id": "1"}
        return json.dumps(message_to_dict(AIMessage("", tool_calls=[call]))).encode()
    answer_format = (options.get("response_format") or {}).get("json_schema") or {}
    schema = answer_format.get("schema")
    answer = json.dumps(_example(schema, schema)) if schema else "0"
    return json.dumps(message_to_dict(AIMessage(answer))).encode()


def _example(schema: Mapping[str, Any], root: Mapping[str, Any]) -> Any:
    """The smallest value that a JSON schema allows. Only the schemas that models get are supported."""
    root = root or schema
    if name := schema.get("$ref"):
        return _example((root.get("$defs") or {}).get(str(name).rpartition("/")[2]) or {}, root)
    for several in ("anyOf", "oneOf", "allOf"):
        if schema.get(several):
            return _example(schema[several][0], root)
    if "const" in schema or schema.get("enum"):
        return schema["const"] if "const" in schema else schema["enum"][0]
    match schema.get("type"):
        case "object":
            return {name: _example(member, root) for name, member in (schema.get("properties") or {}).items()}
        case "array":
            return [_example(schema.get("items") or {}, root)] * int(schema.get("minItems") or 0)
        case "integer" | "number":
            return schema.get("minimum") or 0
        case "boolean":
            return True
        case _:
            return "yes"
