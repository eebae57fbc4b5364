"""Misconfigurations are named by what ``/ready`` and ``proctor doctor`` look at, and to callers."""

import json
import threading
from collections.abc import Iterator
from contextlib import nullcontext
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx
import pytest
from a2a.client.errors import A2AClientError
from a2a.utils.errors import InternalError
from temporalio.client import Client
from temporalio.common import SearchAttributeKey, SearchAttributePair, TypedSearchAttributes
from temporalio.exceptions import ApplicationError
from temporalio.service import RPCError

from proctor.a2a_gateway.temporal import TemporalConnection, temporal_errors
from proctor.a2a_gateway.watching import Watching
from proctor.activities.attempts.failures import in_words
from proctor.activities.simulation.shared_host import SharedHost
from proctor.client.caller import error_text
from proctor.service.doctor.services import look_at_engine, look_at_gateway, look_at_simulators, look_at_tokens
from proctor.service.worker_needs import worker_needs
from proctor.settings.config import GreenAgentConfig
from proctor.storage.namespaces import find_namespace_problem
from proctor.storage.temporal import connect
from proctor.workflows.names import PROCTOR_STATUS
from purple_sdk.settings.config import merge_configs
from tests.observing.conftest import Observed
from tests.sentences import says


@pytest.fixture
def config(observed: Observed) -> GreenAgentConfig:
    return observed.evaluator.config


@pytest.fixture
def other_server() -> Iterator[str]:
    """The address of a web server that is no simulator: it answers each request with JSON of its own."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            card = {"supportedInterfaces": [{"url": "http://127.0.0.1:1/"}]}
            body = json.dumps({"status": "healthy", **(card if "card" in self.path else {})}).encode()
            self.send_response(200)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None: ...

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()


async def ask(config: GreenAgentConfig, need: str) -> str:
    """What a worker's ``/ready`` says of one need; "" where all is well."""
    client = await connect(config)
    return await worker_needs(config, client, [])[need]() or ""


async def test_a_simulator_with_another_key_and_a_server_that_is_none_are_named(
    config: GreenAgentConfig, other_server: str
) -> None:
    assert await ask(config, "simulator") == ""
    theirs = merge_configs(config, {"secret": "another"})
    assert says("401").within(await ask(theirs, "simulator"))
    web = merge_configs(config, {"ues_url": other_server})
    assert says(other_server=other_server).within(await ask(web, "simulator"))
    found, *_ = await look_at_simulators(web)
    assert found.state == "problem"
    assert other_server in found.said


async def test_a_public_address_of_another_simulator_is_named(config: GreenAgentConfig, other_server: str) -> None:
    wrong = merge_configs(config, {"ues_public_url": other_server})
    sentence = await ask(wrong, "simulator")
    assert sentence == says(other_server=other_server)
    assert [finding.state for finding in await look_at_simulators(wrong) if other_server in finding.said] == ["problem"]
    away = merge_configs(config, {"ues_public_url": "http://127.0.0.1:1"})
    assert await ask(away, "simulator") == "", "participants may reach an address that workers do not"
    assert "warning" in [finding.state for finding in await look_at_simulators(away)]


async def test_a_simulation_that_is_not_at_its_public_address_is_the_evaluators_fault(
    config: GreenAgentConfig, other_server: str
) -> None:
    for public, is_wrong in ((other_server, True), ("http://127.0.0.1:1", False)):
        wrong = merge_configs(config, {"ues_public_url": public})
        async with httpx.AsyncClient(trust_env=False) as http:
            host = SharedHost(wrong, http)
            simulation = await host.create("nowhere", 1, 1)
            await simulation.make_reader_key()
            with pytest.raises(ApplicationError, check=says()) if is_wrong else nullcontext():
                await simulation.check_public_address()
            await host.end("nowhere", 1)


async def test_an_archive_and_an_engine_that_are_away_are_named(config: GreenAgentConfig, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder")
    away = merge_configs(
        config,
        {
            "archive_url": str(tmp_path / "file" / "archive"),
            "containers": "on",
            "docker_url": f"unix://{tmp_path}/none.sock",
        },
    )
    assert "archive at" in await ask(away, "archive")
    assert "none.sock doesn't answer" in await ask(away, "engine")
    assert (await look_at_engine(away)).state == "problem"


async def test_a_missing_namespace_and_missing_search_attributes_are_named(config: GreenAgentConfig) -> None:
    nowhere = merge_configs(config, {"temporal_namespace": "nowhere"})
    sentence = await ask(nowhere, "temporal")
    assert sentence == says("nowhere")
    connection = TemporalConnection(partial(connect, nowhere))
    assert str(await connection.find_problem()) == sentence
    with pytest.raises(InternalError, check=says()), temporal_errors("a-task"):
        await (await connection.connect()).get_workflow_handle("a-task").describe()

    client = await connect(config)
    wanted = [PROCTOR_STATUS, SearchAttributeKey.for_keyword("ProctorNever")]
    problem = await find_namespace_problem(client, wanted)
    assert says().within(str(problem))
    with pytest.raises(InternalError, check=says()), temporal_errors():
        await start_with(client, wanted[1])


async def start_with(client: Client, key: SearchAttributeKey[str]) -> None:
    attributes = TypedSearchAttributes([SearchAttributePair(key, "x")])
    with pytest.raises(RPCError) as refused:
        await client.start_workflow("Any", id="any", task_queue="any", search_attributes=attributes)
    raise refused.value


async def test_tokens_that_cannot_be_used_are_named(config: GreenAgentConfig, tmp_path: Path) -> None:
    file = tmp_path / "tokens.json"
    file.write_text("{broken")
    file.chmod(0o600)
    broken = merge_configs(config, {"tokens_file": str(file)})
    look = Watching(broken, TemporalConnection(partial(connect, broken))).needs["tokens"]
    assert says().within(str(await look()))
    file.write_text('{"format": 1, "tokens": []}')
    assert await look() is None
    file.chmod(0o622)
    assert says("600").within(str(await look()))
    assert (await look_at_tokens(broken)).state == "problem"


async def test_a_card_that_sends_callers_elsewhere_is_named(other_server: str) -> None:
    found = {finding.state: finding.said for finding in await look_at_gateway(other_server)}
    assert says("http://127.0.0.1:1").within(found["warning"])


def test_a_refused_request_to_the_simulator_says_what_to_set() -> None:
    said = in_words("AuthenticationError", "POST /step was answered with 401: Unknown or revoked API key.")
    assert says("AGENTBEATS_GREEN_SECRET").within(said)
    assert in_words("ParticipantFailed", "It failed.") == "It failed."


def test_a_gateway_that_cannot_serve_is_quoted_to_its_caller() -> None:
    request = httpx.Request("POST", "http://127.0.0.1:8000/")
    answer = httpx.Response(503, json={"error": {"code": 503, "message": "The keys can't be read."}}, request=request)
    error = A2AClientError("HTTP Error 503")
    error.__cause__ = httpx.HTTPStatusError("503", request=request, response=answer)
    assert error_text(error) == says("503")
