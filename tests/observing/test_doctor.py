"""``proctor doctor`` looks at a deployment, and says what to mend."""

import json
import socket
from pathlib import Path
from typing import Any

import pytest

from proctor.service.doctor.command import list_looks
from proctor.service.doctor.findings import Finding, Look, take
from proctor.service.doctor.services import look_at_simulators
from proctor.service.doctor.temporal import of_clock
from proctor.settings.config import GreenAgentConfig
from purple_sdk.processes.ports import free_ports
from tests.assessments.scripts import idle
from tests.cli.commands import DEAD_PROXIES, Sandbox
from tests.observing.conftest import Observed
from tests.openai_endpoint import OpenAIEndpoint
from tests.sentences import says
from tests.work import only_nightly


@pytest.fixture
def sandbox(tmp_path: Path) -> Sandbox:
    return Sandbox(tmp_path)


def told(sandbox: Sandbox, *arguments: str, **environment: str) -> tuple[int, dict[str, dict[str, Any]]]:
    """The exit code, and the findings by part."""
    done = sandbox.call("doctor", "--json", *arguments, **environment)
    assert "Traceback" not in done.stderr
    return done.returncode, {finding["part"]: finding for finding in json.loads(done.stdout)}


def settings_of(observed: Observed, models: OpenAIEndpoint) -> dict[str, str]:
    config = observed.evaluator.config
    return {
        "AGENTBEATS_GREEN_SECRET": config.secret.get_secret_value(),
        "AGENTBEATS_GREEN_TEMPORAL_ADDRESS": config.temporal_address,
        "AGENTBEATS_GREEN_UES_URL": config.ues_url,
        "AGENTBEATS_GREEN_STORAGE_URL": config.storage_url,
        "AGENTBEATS_GREEN_ARCHIVE_URL": config.archive_url,
        "AGENTBEATS_GREEN_EVALUATION_MODEL": "openai/judge",
        "AGENTBEATS_GREEN_RESPONSE_GENERATOR_MODEL": "openai/judge",
        "AGENTBEATS_GREEN_EVALUATION_BASE_URL": models.base_url,
        "AGENTBEATS_GREEN_RESPONSE_GENERATOR_BASE_URL": models.base_url,
        "OTEL_EXPORTER_OTLP_ENDPOINT": observed.collector.url,
    }


def test_a_deployment_that_works_is_told_so(observed: Observed, sandbox: Sandbox) -> None:
    """Also where a dead proxy is named, by which no library sends what is for this machine."""
    with OpenAIEndpoint() as models, observed.evaluator.serving(idle) as participant:
        models.answer("Say OK", "OK")
        settings = settings_of(observed, models) | DEAD_PROXIES
        code, found = told(sandbox, "--gateway", observed.evaluator.gateway_url, "--agent", participant, **settings)
        assert [request["max_completion_tokens"] for request in models.requests] == [1]
    assert found["confinement"]["said"].startswith("Scenario code ")  # how far depends on this machine's kernel
    of_machine = ("disk", "confinement")
    assert {part: finding["state"] for part, finding in found.items() if part not in of_machine} == {
        "settings": "ok",
        "proxies": "warning",
        "temporal": "ok",
        "retention": "ok",
        "search attributes": "ok",
        "workers": "ok",
        "workers for models": "ok",
        "clock of Temporal": "ok",
        "store": "ok",
        "clock of the store": "ok",
        "archive": "ok",
        "clock of the archive": "ok",
        "scenarios": "ok",
        "oidc": "skipped",
        "tokens": "skipped",
        "engine": "skipped",
        "simulator": "ok",
        "clock of the simulator": "ok",
        "gateway": "ok",
        "clock of the gateway": "ok",
        "traces": "ok",
        "model": "ok",
        "participant": "ok",
    }, found
    assert code == 0


def test_each_part_that_is_ill_is_told_with_what_to_mend(observed: Observed, sandbox: Sandbox) -> None:
    nobody = f"http://127.0.0.1:{free_ports(1)[0]}"
    full = sandbox.folder / "a-file"
    full.write_text("no folder")
    with OpenAIEndpoint() as models:
        models.statuses = [401]
        settings = settings_of(observed, models) | {
            "AGENTBEATS_GREEN_SECRET": "another",
            "AGENTBEATS_GREEN_STORAGE_URL": str(full / "store"),
            "AGENTBEATS_GREEN_TASK_QUEUE": "nobodys",
            "AGENTBEATS_GREEN_STORE": "x",
            "OTEL_EXPORTER_OTLP_ENDPOINT": nobody,
        }
        code, found = told(sandbox, "--gateway", nobody, "--agent", nobody, **settings)
    assert code == 1
    states = {part: finding["state"] for part, finding in found.items()}
    assert states["simulator"] == states["store"] == states["workers"] == states["participant"] == "problem"
    assert states["model"] == "problem"
    assert states["gateway"] == states["settings"] == states["traces"] == "warning"
    assert says().within(found["simulator"]["said"])
    assert "AGENTBEATS_GREEN_SECRET" in found["simulator"]["remedy"]
    assert says("AGENTBEATS_GREEN_STORE").within(found["settings"]["said"])
    assert "proctor worker" in found["workers"]["remedy"]


def test_where_nothing_runs_there_is_a_table_and_no_traceback(sandbox: Sandbox) -> None:
    port = str(free_ports(1)[0])
    address = {
        "AGENTBEATS_GREEN_TEMPORAL_ADDRESS": f"127.0.0.1:{port}",
        "AGENTBEATS_GREEN_UES_URL": f"http://127.0.0.1:{port}",
    }
    done = sandbox.call("doctor", "--no-models", "--gateway", f"http://127.0.0.1:{port}", **address)
    assert done.returncode == 1
    assert done.stderr == ""
    assert "✗   temporal" in done.stdout
    assert "→ Start it (`proctor up` does)" in done.stdout
    assert "2 problems to mend, 1 warning." in done.stdout


async def test_what_hangs_or_fails_ends_in_time_and_with_a_sentence() -> None:
    import asyncio

    async def hangs() -> Finding:
        await asyncio.Event().wait()
        raise AssertionError

    async def fails() -> Finding:
        raise RuntimeError("odd")

    (hung,) = await take(Look("a", hangs, seconds=0.01))
    assert hung.state == "problem"
    assert hung.said == says("0.01")
    (failed,) = await take(Look("b", fails))
    assert failed.state == "problem"
    assert failed.said == says()
    assert all(look.seconds <= 30 for look in list_looks(GreenAgentConfig()))


def test_a_clock_that_goes_wrong_is_told() -> None:
    assert of_clock("Temporal", 0.5).state == "ok"
    assert of_clock("Temporal", -90).said == says("90.0")
    assert of_clock("Temporal", 90).state == "warning"


@only_nightly
def test_services_that_take_connections_and_say_nothing_are_told(sandbox: Sandbox) -> None:
    with socket.create_server(("127.0.0.1", 0), backlog=50) as silent:
        silence = f"127.0.0.1:{silent.getsockname()[1]}"
        code, found = told(
            sandbox,
            *("--gateway", f"http://{silence}", "--agent", f"http://{silence}"),
            AGENTBEATS_GREEN_TEMPORAL_ADDRESS=silence,
            AGENTBEATS_GREEN_UES_URL=f"http://{silence}",
            AGENTBEATS_GREEN_CONNECT_TIMEOUT="1",
            AGENTBEATS_GREEN_EVALUATION_MODEL="openai/silent",
            AGENTBEATS_GREEN_RESPONSE_GENERATOR_MODEL="openai/silent",
            AGENTBEATS_GREEN_EVALUATION_BASE_URL=f"http://{silence}/v1",
            AGENTBEATS_GREEN_RESPONSE_GENERATOR_BASE_URL=f"http://{silence}/v1",
        )
    assert code == 1
    for part in ("temporal", "simulator", "participant", "model"):
        assert found[part]["state"] == "problem", found[part]
    assert found["gateway"]["state"] == "warning"


async def test_one_of_several_simulators_that_is_away_is_a_warning(observed: Observed) -> None:
    nobody = f"http://127.0.0.1:{free_ports(1)[0]}"
    config = observed.evaluator.config.model_copy(update={"ues_url": f"{nobody} {observed.evaluator.ues_url}"})
    found = await look_at_simulators(config)
    assert [(finding.state, finding.part) for finding in found] == [
        ("warning", "simulator"),
        ("ok", "simulator"),
        ("ok", "clock of the simulator"),
    ]
