"""One assessment is one trace, from its caller's span on: through gateway, workflow and activities to the participant,
what it does in the simulator, and the models.
"""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from temporalio.contrib.opentelemetry import OpenTelemetryPlugin, create_tracer_provider
from temporalio.worker import Replayer, UnsandboxedWorkflowRunner

from proctor.observing import tracing
from proctor.service.worker import WORKFLOWS
from proctor.storage.blobs import BlobStore
from proctor.storage.temporal import data_converter
from purple_sdk.protocol.messages import EarlyCompletionMessage
from purple_sdk.ues import AsyncUESClient
from tests.histories.test_replaying import RECORDINGS, recording
from tests.observing.collector import Collected, write_spans
from tests.observing.conftest import CALLER, JUDGE, PEOPLE, TRACE, Observed
from tests.sentences import says
from tests.stack import assess
from tests.waiting import eventually
from tests.work import only_nightly

GATEWAY, WORKER, SIMULATOR = "proctor-gateway", "proctor-worker", "proctor-simulator"


@pytest.fixture
async def spans(observed: Observed) -> list[Collected]:
    """The trace of the assessment, once all services have sent what they had of it."""

    async def is_whole() -> bool:
        names = {span.name for span in observed.collector.of_trace(TRACE)}
        return {"RunWorkflow:Assessment", "RunActivity:archive", "POST /"} <= names

    await eventually(is_whole)
    found = observed.collector.of_trace(TRACE)
    if place := os.environ.get("PROCTOR_TEST_SPANS"):  # for the picture in docs/OBSERVING.md
        write_spans(found, Path(place))
    return found


def way_to_the_caller(span: Collected, spans: list[Collected]) -> list[tuple[str, str]]:
    """(service, name) of a span and of those that it is within, up to the caller's own."""
    by_id = {each.span_id: each for each in spans}
    way = [(span.service, span.name)]
    while span.parent_id in by_id:
        span = by_id[span.parent_id]
        way.append((span.service, span.name))
    assert span.parent_id == CALLER, f"{way} leads to nobody"
    return way


def one(spans: list[Collected], service: str, name: str, **attributes: Any) -> Collected:
    """The first span of a service with a name and attributes, whose names have _ for dots."""
    wanted = {key.replace("__", "."): value for key, value in attributes.items()}
    for span in spans:
        if (span.service, span.name) == (service, name) and wanted.items() <= span.attributes.items():
            return span
    raise AssertionError(f"no span {name!r} of {service} with {wanted}: {sorted({s.name for s in spans})}")


async def test_every_span_leads_back_to_the_callers(spans: list[Collected]) -> None:
    for span in spans:
        way_to_the_caller(span, spans)
    assert {span.service for span in spans} == {GATEWAY, WORKER, SIMULATOR}


async def test_what_the_participant_did_is_within_its_turn(spans: list[Collected]) -> None:
    sent = one(spans, SIMULATOR, "POST /simulations/{simulation_id}/email/send")
    assert way_to_the_caller(sent, spans) == [
        (SIMULATOR, "POST /simulations/{simulation_id}/email/send"),
        (WORKER, "invoke_agent turn_start"),
        (WORKER, "RunActivity:purple_turn"),
        (WORKER, "StartActivity:purple_turn"),
        (WORKER, "RunWorkflow:Assessment"),
        (GATEWAY, "StartWorkflow:Assessment"),
        (GATEWAY, "POST /"),
    ]
    turn = one(spans, WORKER, "RunActivity:purple_turn", proctor__turn=1)
    assert turn.attributes["proctor.attempt"] == 1


async def test_calls_of_models_are_told_by_the_semantic_conventions(spans: list[Collected], observed: Observed) -> None:
    judged = one(spans, WORKER, f"chat {JUDGE}")
    assert way_to_the_caller(judged, spans)[1] == (WORKER, "RunActivity:judge_criterion")
    assert judged.kind == 3  # a client
    assert {name: value for name, value in judged.attributes.items() if name != "server.address"} == {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "openai",
        "gen_ai.request.model": JUDGE,
        "gen_ai.request.temperature": 0.0,
        "gen_ai.response.model": "judge",
        "gen_ai.usage.input_tokens": 1,
        "gen_ai.usage.output_tokens": 1,
    }
    assert way_to_the_caller(one(spans, WORKER, f"chat {PEOPLE}"), spans)[1] == (WORKER, "RunActivity:respond")
    spoken = one(spans, WORKER, "invoke_agent assessment_start")
    assert spoken.attributes["gen_ai.agent.name"] == "scripted"


async def test_spans_carry_no_secrets_and_no_followers(spans: list[Collected], observed: Observed) -> None:
    told = json.dumps([span.attributes for span in observed.collector.spans])
    assert "key-of-this-test" not in told
    assert observed.evaluator.config.secret.get_secret_value() not in told
    assert "Half past twelve" not in told
    assert not [span.name for span in observed.collector.spans if "workflow_stream" in span.name]
    assert observed.collector.paths == {"/v1/traces"}


async def test_old_histories_replay_with_traces_and_send_nothing_again(tmp_path: Path) -> None:
    exporter, provider = InMemorySpanExporter(), create_tracer_provider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    trace.set_tracer_provider(provider)
    replayer = Replayer(
        workflows=WORKFLOWS,
        workflow_runner=UnsandboxedWorkflowRunner(),
        data_converter=data_converter(BlobStore(str(tmp_path))),
        plugins=[OpenTelemetryPlugin(add_temporal_spans=True)],
    )
    for path in [path for path in RECORDINGS if path.parent.name == "0.1"][:6]:
        await replayer.replay_workflow(recording(path))
    assert exporter.get_finished_spans() == ()


@pytest.mark.parametrize(
    ("environment", "is_asked"),
    [
        ({}, False),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://collector:4318"}, True),
        ({"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://collector:4318/v1/traces"}, True),
        ({"OTEL_TRACES_EXPORTER": "console"}, True),
        ({"OTEL_TRACES_EXPORTER": "none", "OTEL_EXPORTER_OTLP_ENDPOINT": "http://collector:4318"}, False),
        ({"OTEL_SDK_DISABLED": "true", "OTEL_EXPORTER_OTLP_ENDPOINT": "http://collector:4318"}, False),
        ({"OTEL_SERVICE_NAME": "mine"}, False),
    ],
)
def test_the_standard_variables_say_whether_there_are_traces(environment: Mapping[str, str], is_asked: bool) -> None:
    assert tracing.is_asked_for(environment) == is_asked


def test_without_being_asked_for_traces_import_nothing() -> None:
    code = "import sys, proctor.observing.tracing as t; t.start_tracing('x')\nwith t.span('a'): t.carry({})\n"
    code += "print([name for name in sys.modules if name.startswith('opentelemetry')])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


@pytest.mark.parametrize(
    "variables",
    [
        {"OTEL_TRACES_EXPORTER": "zipkin"},
        {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://c:4317", "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"},
    ],
)
def test_an_exporter_that_is_not_known_is_a_sentence(
    variables: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(tracing.TracingError, check=says()):
        tracing.start_tracing("proctor-worker")


def test_without_the_extra_a_sentence_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://c:4318")
    monkeypatch.setitem(sys.modules, "opentelemetry.sdk.resources", None)
    with pytest.raises(tracing.TracingError, check=says("proctor[otel]")):
        tracing.start_tracing("proctor-worker")


@pytest.mark.parametrize("is_wanted", [False, pytest.param(True, marks=only_nightly)])
def test_a_failed_step_leaves_its_text_out_of_the_spans_unless_asked_for(is_wanted: bool) -> None:
    """As Temporal's SDK does: an exception passes through a span, whose message quotes a participant."""
    script = (
        "from proctor.observing import tracing\n"
        "tracing.start_tracing('proctor-worker')\n"
        "try:\n"
        "    with tracing.span('RunActivity:judge_criterion'):\n"
        "        raise ValueError('it says: my PIN is 4711')\n"
        "except ValueError:\n"
        "    tracing.stop_tracing()\n"
    )
    settings = {"OTEL_TRACES_EXPORTER": "console"}
    if is_wanted:
        settings["OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"] = "true"
    done = subprocess.run(
        [sys.executable, "-c", script], env={**os.environ, **settings}, capture_output=True, text=True, check=True
    )
    assert "RunActivity:judge_criterion" in done.stdout
    assert "ValueError" in done.stdout
    assert ("my PIN" in done.stdout) == is_wanted


@only_nightly
async def test_a_trace_stays_whole_when_the_worker_dies(observed: Observed, monkeypatch: pytest.MonkeyPatch) -> None:
    stack, killed = observed.evaluator, list[int]()

    async def kills_the_worker(turn: int, ues: AsyncUESClient, now: datetime) -> Any:
        if not killed:
            killed.append(stack.supervisor.find_pid("worker") or 0)
            os.kill(killed[0], signal.SIGKILL)
        return EarlyCompletionMessage() if turn > 1 else None

    trace_id = "0af7651916cd43dd8448eb211c80319c"
    monkeypatch.setenv("TRACEPARENT", f"00-{trace_id}-{CALLER}-01")
    with stack.serving(kills_the_worker) as participant:
        assessed = await assess(stack, participant, "tiny")
    assert assessed.state == "completed", assessed.sentence

    async def is_whole() -> bool:
        return "RunWorkflow:Assessment" in {span.name for span in observed.collector.of_trace(trace_id)}

    await eventually(is_whole)
    spans = observed.collector.of_trace(trace_id)
    assert [span.name for span in spans].count("RunWorkflow:Assessment") == 1
    # The killed worker sent nothing of its last moment; what came after it leads back to the caller as ever.
    for name, told in (("purple_turn", {"proctor__turn": 2}), ("conclude", {}), ("archive", {})):
        way = way_to_the_caller(one(spans, WORKER, f"RunActivity:{name}", **told), spans)
        assert (WORKER, "RunWorkflow:Assessment") in way
    second = one(spans, WORKER, "RunActivity:purple_turn", proctor__turn=1)
    assert second.attributes["proctor.attempt"] == 2
