"""What one machine runs: the dev server, services that know of each other, ports that are free."""

import socket
import sys
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from proctor.common.errors import CommandError, UsageError
from proctor.local.stack import LocalStack, Ports, find_temporal, require_free
from proctor.local.up import find_problems_of_stores, what_is_open
from proctor.service.worker_needs import worker_needs
from proctor.settings.config import GreenAgentConfig
from proctor.workflows.names import SEARCH_ATTRIBUTES
from purple_sdk.processes.ports import find_listener
from tests.sentences import says


@pytest.fixture
def taken() -> Iterator[int]:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        yield listener.getsockname()[1]


def test_a_taken_port_is_told_with_who_has_it_and_the_flag_to_change_it(taken: int) -> None:
    who = find_listener(taken)
    with pytest.raises(CommandError) as raised:
        require_free({"--ues-port": ("127.0.0.1", taken)})
    assert str(raised.value) == says("--ues-port", taken=taken, who=who)


def test_two_services_on_one_port_are_wrong_usage() -> None:
    with pytest.raises(UsageError, check=says("--port", "--ui-port", "8000")):
        require_free({"--port": ("127.0.0.1", 8000), "--ui-port": ("127.0.0.1", 8000)})


def test_the_dev_server_is_found_beside_python() -> None:
    assert Path(find_temporal()) == Path(sys.executable).with_name("temporal")


def test_a_missing_dev_server_is_told_with_what_to_install(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(CommandError, check=says("proctor[local]")):
        find_temporal()


def stack(tmp_path: Path, *, is_durable: bool, **settings: Any) -> LocalStack:
    config = GreenAgentConfig(scenarios_dir=str(tmp_path), **settings)
    return LocalStack(config, Ports(1, 2, 3, 4, agent=5), tmp_path, is_durable)


def test_the_dev_server_knows_every_search_attribute(tmp_path: Path) -> None:
    command = list(stack(tmp_path, is_durable=True).list_services()[0].command)
    given = {command[i + 1] for i, word in enumerate(command) if word == "--search-attribute"}
    assert given == {f"{key.name}={key.indexed_value_type.name.title()}" for key in SEARCH_ATTRIBUTES}
    assert f"{tmp_path}/temporal.db" in command
    assert "ProctorScore=Double" in command


def test_a_demo_keeps_no_database(tmp_path: Path) -> None:
    assert "--db-filename" not in stack(tmp_path, is_durable=False).list_services()[0].command


def given_in(environment: Mapping[str, str | None]) -> dict[str, str]:
    return {name: value for name, value in environment.items() if value is not None}


def test_services_share_secret_and_storage_and_the_agent_knows_neither(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    monkeypatch.setenv("AZURE_STORAGE_CONNECTION_STRING", "AccountKey=k")
    services = {service.name: service for service in stack(tmp_path, is_durable=True).list_services()}
    worker, gateway = services["worker"].environment, services["gateway"].environment
    assert given_in(worker) == given_in(gateway)
    assert worker["AGENTBEATS_GREEN_STORAGE_URL"] == str(tmp_path / "storage")
    assert services["ues"].environment["UES_HOST_KEY"] != worker["AGENTBEATS_GREEN_SECRET"]
    agent = services["agent"].environment
    assert set(agent.values()) == {None}  # nothing is added, and what the environment has of these is taken out
    assert {"AGENTBEATS_GREEN_SECRET", "AGENTBEATS_GREEN_STORAGE_URL", "OPENAI_API_KEY"} <= set(agent)
    assert services["ues"].environment["AGENTBEATS_GREEN_SECRET"] is None
    assert services["ues"].environment["AZURE_STORAGE_CONNECTION_STRING"] is None
    assert "AZURE_STORAGE_CONNECTION_STRING" not in services["gateway"].environment  # it reads the store
    for name in ("temporal", "ues", "gateway"):
        assert services[name].environment["OPENAI_API_KEY"] is None
    assert "OPENAI_API_KEY" not in worker


def test_the_worker_has_as_many_processes_as_are_asked_for(tmp_path: Path) -> None:
    services = {
        service.name: service for service in stack(tmp_path, is_durable=True, worker_processes=3).list_services()
    }
    assert list(services["worker"].command)[-3:] == ["worker", "--processes", "3"]


def test_a_storage_url_of_ones_own_is_kept(tmp_path: Path) -> None:
    own = stack(tmp_path, is_durable=True, storage_url="s3://bucket/proctor")
    assert own.make_environment()["AGENTBEATS_GREEN_STORAGE_URL"] == "s3://bucket/proctor"


async def test_a_store_that_can_not_be_used_is_warned_of(tmp_path: Path) -> None:
    own = stack(tmp_path, is_durable=True)
    assert await find_problems_of_stores(own) == []
    Path(own.storage_url).rename(tmp_path / "elsewhere")
    Path(own.storage_url).write_text("a file in its place")
    (warning,) = await find_problems_of_stores(own)
    assert says(storage_url=own.storage_url).within(warning)
    assert says().within(warning)


def test_the_gateway_gets_the_subject_of_its_card(tmp_path: Path) -> None:
    own = stack(tmp_path, is_durable=True, card_subject="terminal-bench")
    assert own.make_environment()["AGENTBEATS_GREEN_CARD_SUBJECT"] == "terminal-bench"


def test_an_evaluator_of_terminal_tasks_runs_no_simulator(tmp_path: Path) -> None:
    own = replace(stack(tmp_path, is_durable=True, card_subject="terminal-bench"), has_simulator=False)
    services = {service.name: service for service in own.list_services()}
    assert set(services) == {"temporal", "agent", "worker", "gateway"}
    assert services["worker"].after == ("temporal",)
    assert "simulator" not in worker_needs(own.config, None, [])  # type: ignore[arg-type]
    assert what_is_open(replace(own, config=own.config.model_copy(update={"host": "0.0.0.0"})))[1:] == []


OUTSIDE = "http://evaluator.example:8000/"


@pytest.mark.parametrize(
    ("settings", "address"),
    [
        ({"host": "127.0.0.1"}, None),
        ({"host": "127.0.0.1", "card_url": OUTSIDE}, None),
        ({"host": "0.0.0.0"}, None),
        ({"host": "0.0.0.0", "card_url": "http://localhost:8000/"}, None),
        ({"host": "0.0.0.0", "card_url": OUTSIDE}, "http://evaluator.example:2"),
        ({"host": "::", "card_url": "https://[2001:db8::7]/"}, "http://[2001:db8::7]:2"),
        ({"host": "0.0.0.0", "card_url": OUTSIDE, "ues_host": "127.0.0.1"}, None),
        ({"host": "0.0.0.0", "card_url": OUTSIDE, "ues_public_url": "https://ues.example"}, "https://ues.example"),
        (
            {"host": "0.0.0.0", "card_url": OUTSIDE, "ues_command": "ues --port {port}"},
            "http://evaluator.example:{port}",
        ),
    ],
)
def test_participants_elsewhere_are_told_the_simulators_address_where_it_is_open_to_them(
    tmp_path: Path, settings: dict[str, str], address: str | None
) -> None:
    local = stack(tmp_path, is_durable=True, **settings)
    assert local.ues_public_url == address
    assert local.make_environment()["AGENTBEATS_GREEN_UES_PUBLIC_URL"] == (address or "")


@pytest.mark.parametrize(
    ("settings", "facts"),
    [
        ({"host": "127.0.0.1"}, []),
        ({"host": "0.0.0.0"}, ["port 1", "port 2", "--card-url"]),
        ({"host": "0.0.0.0", "card_url": OUTSIDE}, ["port 1", "port 2"]),
        ({"host": "0.0.0.0", "ues_host": "127.0.0.1"}, ["port 1", "--ues-host"]),
    ],
)
def test_what_is_open_to_others_is_said(tmp_path: Path, settings: dict[str, str], facts: list[str]) -> None:
    assert what_is_open(stack(tmp_path, is_durable=True, **settings)) == [says(fact) for fact in facts]


def test_a_service_at_an_address_of_its_own_is_asked_there(tmp_path: Path) -> None:
    local = stack(tmp_path, is_durable=True, host="10.1.2.3")
    assert (local.gateway_url, local.ues_url) == ("http://10.1.2.3:1", "http://10.1.2.3:2")


def test_services_tell_how_they_are_one_port_after_the_other(tmp_path: Path) -> None:
    def ports(**settings: Any) -> dict[str, str | None]:
        services = LocalStack(
            GreenAgentConfig(scenarios_dir=str(tmp_path), **settings), Ports(1, 2, 3, 4), tmp_path, is_durable=False
        ).list_services()
        told = {service.name: service.environment.get("AGENTBEATS_GREEN_OBSERVE_PORT") for service in services}
        return {name: told[name] for name in ("gateway", "ues", "worker")}

    assert ports(observe_port=9464) == {"gateway": "9464", "ues": "9465", "worker": "9466"}
    assert ports(observe_port=0) == {"gateway": "0", "ues": "0", "worker": "0"}
    assert ports() == dict.fromkeys(("gateway", "ues", "worker"))
