"""One table of bad requests: the state and the sentence that come back, and that nothing is left behind.

What rejects a request is one activity, and what hears a participant one client: both are asked in this process about
all of them; some go the whole way, as in ``make nightly`` all do.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, aclosing, asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from a2a.types import GetTaskRequest, Part, Task
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from temporalio.client import WorkflowExecutionStatus, WorkflowFailureError
from temporalio.exceptions import ApplicationError
from temporalio.testing import ActivityEnvironment

from proctor.a2a_gateway.parts import request_of
from proctor.activities.admission.activities import AdmissionActivities
from proctor.activities.admission.payloads import AdmitInput
from proctor.activities.attempts import failures
from proctor.activities.participant import ParticipantClients
from proctor.activities.scenario_code.scenarios import Scenarios
from proctor.settings.config import GreenAgentConfig
from proctor.storage.blobs import BlobStore
from proctor.storage.temporal import connect
from proctor.workflows.names import PROCTOR_STATUS
from purple_sdk.processes.ports import free_ports
from purple_sdk.protocol.messages import TurnStartMessage
from purple_sdk.protocol.results import AssessmentResults
from tests.a2a_gateway.callers import data_part, message, sdk_client, send, state_name
from tests.assessments import participants
from tests.assessments.observers import simulations_left
from tests.assessments.participants import DONE, by_hand
from tests.assessments.scripts import idle
from tests.sentences import says
from tests.stack import SCENARIOS, Stack, listening, serving
from tests.work import only_nightly

Json = dict[str, Any]
_FAMILIES = {path.parent.name for path in SCENARIOS.glob("families/*/family.py")} | {"one_question", "two_truths"}
FAMILIES = f"; families: {', '.join(sorted(_FAMILIES))}"
SHAPE = '{"participants": {"personal_assistant": URL}, "config": {"scenario_id": ID}}'


@asynccontextmanager
async def never_asked() -> AsyncIterator[str]:
    """An address that a rejected request never gets to."""
    yield "http://127.0.0.1:9"


@asynccontextmanager
async def nobody() -> AsyncIterator[str]:
    (port,) = free_ports(1)
    yield f"http://127.0.0.1:{port}"


@asynccontextmanager
async def web_server() -> AsyncIterator[str]:
    """An HTTP server that knows nothing of A2A."""
    async with listening(lambda _url: Starlette()) as url:
        yield url


def well_behaved() -> AbstractAsyncContextManager[str]:
    return serving(idle)


def answering(
    answer: Callable[[Json], Any], *, streams: bool = False
) -> Callable[[], AbstractAsyncContextManager[str]]:
    """A participant that answers every turn so."""

    @asynccontextmanager
    async def participant() -> AsyncIterator[str]:
        async with by_hand(answer, streams=streams) as served:
            yield served.url

    return participant


async def sleeping(_said: Json) -> Json:
    await asyncio.sleep(60)
    return DONE


@dataclass(frozen=True)
class Case:
    """A request and what comes back.

    Attributes:
        name: what is wrong. state: how the task ends. config: goes into the request's config. participant: serves the
        participant. parts: the message's parts, where not a good request made of these. request: the whole request.
        status: of the results, where there are any.
    """

    name: str
    state: str = "rejected"
    config: Json = field(default_factory=dict)
    participant: Callable[[], AbstractAsyncContextManager[str]] = never_asked
    parts: list[Part] | None = None
    request: Json | None = None
    status: str | None = None


def failing(name: str, participant: Callable[[], Any], status: str = "failed", **config: Any) -> Case:
    """A case in which the participant is at fault."""
    return Case(name, "failed", {"turn_timeout": 1, "turn_tries": 1, **config}, participant, status=status)


def answer(*parts: Json) -> Callable[[], AbstractAsyncContextManager[str]]:
    return answering(lambda _said: participants.message(*parts))


GOOD: Json = {"participants": {"assistant": "http://127.0.0.1:9"}, "config": {"scenario_id": "tiny"}}
NO_REQUEST = f"The message has no request: send {SHAPE} as a data part, as JSON text or a JSON file."
HUGE_SEED = json.dumps(GOOD).replace('"tiny"', '"tiny", "seed": 9223372036854775808')

CASES = [
    Case("empty text", parts=[Part(text=" ")]),
    Case(
        "broken JSON",
        parts=[Part(text='{"participants": ')],
    ),
    Case("JSON array as text", parts=[Part(text='["tiny"]')]),
    Case("JSON array as data", parts=[data_part(["tiny"])]),
    Case("no participants", request={"config": GOOD["config"]}),
    Case(
        "empty participants",
        request={**GOOD, "participants": {}},
    ),
    Case(
        "a URL that isn't one",
        request={**GOOD, "participants": {"assistant": "localhost"}},
    ),
    Case(
        "an address that is no text",
        request={**GOOD, "participants": {"assistant": 5}},
    ),
    Case(
        "several unknown roles",
        request={**GOOD, "participants": {"seller": "http://a", "buyer": "http://b"}},
    ),
    Case("no config", request={"participants": GOOD["participants"]}),
    Case("no scenario_id", request={**GOOD, "config": {}}),
    Case(
        "unknown scenario",
        config={"scenario_id": "nowhere"},
    ),
    Case(
        "a path as scenario",
        config={"scenario_id": "../tiny"},
    ),
    Case(
        "a family that is misspelt",
        config={"scenario_id": "one_questoin"},
    ),
    Case(
        "a difficulty that there is not",
        config={"scenario_id": "one_question", "difficulty": 7},
    ),
    Case(
        "a difficulty of a fixed scenario",
        config={"difficulty": 2},
    ),
    Case(
        "a day with two truths",
        config={"scenario_id": "two_truths", "difficulty": 3, "seed": 9},
    ),
    Case(
        "max_turns 0",
        config={"max_turns": 0},
    ),
    Case(
        "wrong types",
        config={"max_turns": "many", "offline": "perhaps", "seed": 1.5},
    ),
    Case(
        "seed out of range",
        parts=[Part(text=HUGE_SEED)],
    ),
    Case(
        "a model is needed and no key is set",
        config={"offline": False},
    ),
    Case(
        "evaluators that are no Python",
        config={"scenario_id": "evaluators_not_python"},
    ),
    Case(
        "an initial_state that is no JSON",
        config={"scenario_id": "state_not_json"},
    ),
    Case(
        "an initial_state of the wrong shape",
        config={"scenario_id": "state_misshapen"},
    ),
    Case(
        "an initial_state that the simulator refuses",
        "failed",
        {"scenario_id": "state_refused"},
        status="failed",
    ),
    Case(
        "an evaluator that raises",
        "failed",
        {"scenario_id": "evaluator_raises", "max_turns": 1},
        well_behaved,
        status="failed",
    ),
    failing(
        "nobody listens",
        nobody,
    ),
    failing(
        "an HTTP server without agent card",
        web_server,
    ),
    failing(
        "garbage as answer",
        answering(lambda _said: PlainTextResponse("<html>oops")),
    ),
    failing(
        "HTTP 500 as answer",
        answering(lambda _said: PlainTextResponse("oops", 500)),
    ),
    failing(
        "prose as answer",
        answer(participants.text("I am done!")),
    ),
    failing(
        "nothing as answer",
        answer(),
    ),
    failing(
        "wrong message_type",
        answer(participants.data({"message_type": "turn_finished"})),
    ),
    failing(
        "a field that is wrong",
        answer(participants.data({**DONE, "time_step": "an hour"})),
    ),
    failing(
        "a field that is missing",
        answer(participants.data({**DONE, "actions": [{}]})),
    ),
    failing(
        "a task that fails",
        answering(lambda _said: participants.task("failed", participants.text("out of quota"))),
    ),
    failing(
        "a task that fails at every try",
        answering(lambda _said: participants.task("failed")),
        turn_tries=3,
    ),
    failing(
        "a task that asks back",
        answering(lambda _said: participants.task("input-required", participants.text("Which Ben?"))),
    ),
    failing(
        "a task that nobody may look at",
        answering(lambda _said: participants.task("working")),
    ),
    failing("never an answer", answering(sleeping), status="timeout"),
    failing(
        "keep-alives for ever",
        answering(lambda _said: None, streams=True),
        status="timeout",
    ),
]


REJECTED = [case for case in CASES if case.state == "rejected"]
ANSWERED_WRONG = [
    case for case in CASES if case.status == "failed" and case.participant not in (never_asked, well_behaved)
]
IN_PROCESS = [*REJECTED, *ANSWERED_WRONG]
SHOWN_ELSEWHERE = [*IN_PROCESS, *(case for case in CASES if case.name == "an evaluator that raises")]
"""By default; an evaluator that raises is in ``test_archiving.py``."""
THE_WHOLE_WAY = (
    *("broken JSON", "no scenario_id", "a path as scenario", "evaluators that are no Python"),
    *("nobody listens", "HTTP 500 as answer", "a field that is wrong", "a task that fails at every try"),
)
"""One for each that looks at a request: who reads it, who knows its fields, who finds the scenario, who loads it; and
one for each that hears a participant: who connects, who speaks A2A, who reads an answer, who tries again."""


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def admission(
    quick_fork_servers: None, scenarios_dir: Path, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[AdmissionActivities]:
    config = GreenAgentConfig(scenarios_dir=str(scenarios_dir), storage_url=str(tmp_path_factory.mktemp("storage")))
    store = BlobStore(config.storage_url)
    async with aclosing(Scenarios(config, store)) as scenarios:
        yield AdmissionActivities(config, store, scenarios)


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("case", REJECTED, ids=[case.name for case in REJECTED])
async def test_rejected(admission: AdmissionActivities, case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    given = AdmitInput(task_id="t", request=request_of(message(*parts_of(case, "http://127.0.0.1:9")).message))
    with pytest.raises(ApplicationError) as problem:
        await ActivityEnvironment().run(admission.admit, given)
    assert problem.value.type == failures.REJECTED
    assert problem.value.message == says()


@pytest.mark.parametrize("case", ANSWERED_WRONG, ids=[case.name for case in ANSWERED_WRONG])
async def test_answered_wrong(case: Case) -> None:
    turn = TurnStartMessage(turn_number=1, current_time=datetime(2026, 3, 2, 9, tzinfo=UTC), events_processed=0)
    clients = ParticipantClients(GreenAgentConfig())
    async with case.participant() as url:
        with pytest.raises(ApplicationError) as problem:
            async with clients.talk(url, "an assessment") as line:
                (await line.send(turn, "an id")).to_turn()
    await clients.aclose()
    assert problem.value.message == says(url=url)


@pytest.mark.parametrize(
    "case",
    [
        pytest.param(
            case,
            id=case.name,
            marks=[only_nightly] if case in SHOWN_ELSEWHERE and case.name not in THE_WHOLE_WAY else [],
        )
        for case in CASES
    ],
)
async def test_bad_request(stack: Stack, case: Case) -> None:
    async with case.participant() as url, sdk_client(stack.gateway_url, streaming=False) as caller:
        ended = await send(caller, message(*parts_of(case, url)))
        asked_again = await caller.get_task(GetTaskRequest(id=ended.id))
    sentence = sentence_of(ended)

    assert state_name(ended.status.state) == case.state, sentence
    assert sentence == says(url=url)
    assert "Traceback" not in sentence
    assert 'File "' not in sentence
    assert (asked_again.status.state, sentence_of(asked_again)) == (ended.status.state, sentence)
    if case.status is None:
        assert not ended.artifacts
    else:
        assert_results(ended, case, sentence)
    await assert_workflow(stack, ended.id, case.state, sentence)
    assert await simulations_left(stack) == []


def parts_of(case: Case, url: str) -> list[Part]:
    """The message's parts; a good request goes as JSON text, which keeps every number as it is."""
    if case.parts is not None:
        return case.parts
    config = {"scenario_id": "tiny", "offline": True} | case.config
    return [Part(text=json.dumps(case.request or {"participants": {"personal_assistant": url}, "config": config}))]


def sentence_of(task: Task) -> str:
    return "".join(part.text for part in task.status.message.parts)


def assert_results(task: Task, case: Case, sentence: str) -> None:
    """The artifact says the same: the state as status, the sentence as failure, and no score that nobody gave."""
    [artifact] = task.artifacts
    [exact] = [part.raw for part in artifact.parts if part.HasField("raw")]
    results = AssessmentResults.model_validate_json(exact)
    assert results.status == case.status
    if case.state == "failed":
        assert results.failure == sentence
        assert all(criterion.is_unscored for criterion in results.criteria_results)
        assert {criterion.unscored_reason for criterion in results.criteria_results} == {sentence}
        assert (results.scores.overall.max_score, results.coverage) == (0, 0)


async def assert_workflow(stack: Stack, task_id: str, state: str, sentence: str) -> None:
    """Temporal tells the same: Completed, or Failed with the sentence as its reason."""
    client = await connect(stack.config)
    handle = client.get_workflow_handle(task_id)
    described = await handle.describe()
    if state == "completed":
        assert described.status == WorkflowExecutionStatus.COMPLETED
        return
    assert described.status == WorkflowExecutionStatus.FAILED
    assert described.typed_search_attributes.get(PROCTOR_STATUS) == state
    with pytest.raises(WorkflowFailureError) as failure:
        await handle.result()
    reason = failure.value.cause
    assert isinstance(reason, ApplicationError)
    assert (reason.type, reason.message) == ("Rejected" if state == "rejected" else "AssessmentFailed", sentence)
