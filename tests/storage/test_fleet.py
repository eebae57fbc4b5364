"""Services of one deployment that don't use the same store, secret or keys are named, and don't work side by side."""

import asyncio
from base64 import b64encode
from datetime import timedelta
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from pydantic import SecretStr, ValidationError
from temporalio import workflow
from temporalio.api.workflowservice.v1 import SetWorkerDeploymentCurrentVersionRequest
from temporalio.common import VersioningBehavior, WorkerDeploymentVersion
from temporalio.worker import Worker, WorkerDeploymentConfig

from proctor.a2a_gateway.temporal import TemporalConnection
from proctor.a2a_gateway.watching import Watching
from proctor.service.doctor.temporal import look_at_temporal
from proctor.service.worker import MisfitError, run_worker
from proctor.settings.config import GreenAgentConfig
from proctor.storage.fleet import WORKFLOWS, Fingerprint, find_fleet_problem, polling_now
from proctor.storage.folder import Folder
from proctor.storage.temporal import connect
from purple_sdk.settings.config import merge_configs
from tests.sentences import says
from tests.stack import Stack
from tests.waiting import eventually


def keys(*numbers: int) -> SecretStr:
    return SecretStr(" ".join(f"k{n}:{b64encode(bytes([n]) * 32).decode()}" for n in numbers))


def config_of(tmp_path: Path, **more: Any) -> GreenAgentConfig:
    places = {"storage_url": str(tmp_path / "store"), "archive_url": str(tmp_path / "archive")}
    return GreenAgentConfig(**{"secret": SecretStr("ours"), **places, **more})


async def test_all_processes_with_the_same_settings_have_the_same_fingerprint(tmp_path: Path) -> None:
    config = config_of(tmp_path, payload_keys=keys(1))
    own = await Fingerprint.of(config)
    assert Fingerprint.read(f"17.0@host {own}") == own
    assert Fingerprint.read("17@host") is None
    assert "-" not in (own.store, own.archive, own.secret)
    assert own.differences(own) == []


@pytest.mark.parametrize(
    ("more", "differing"),
    [
        ({"storage_url": "other"}, ["store"]),
        ({"archive_url": "other"}, ["archive"]),
        ({"secret": SecretStr("theirs")}, ["secret"]),
        ({"payload_keys": None}, ["keys"]),
        ({"payload_keys": keys(2)}, ["keys"]),
        ({"payload_keys": keys(2, 1)}, ["keys"]),
        ({"payload_keys": keys(1, 2)}, []),
        ({"storage_url": "memory://other"}, []),
    ],
)
async def test_what_differs_is_named(tmp_path: Path, more: dict[str, Any], differing: list[str]) -> None:
    more = {name: str(tmp_path / value) if value == "other" else value for name, value in more.items()}
    own = await Fingerprint.of(config_of(tmp_path, payload_keys=keys(1)))
    other = await Fingerprint.of(config_of(tmp_path, **{"payload_keys": keys(1), **more}))
    assert own.differences(other) == differing == other.differences(own)


async def test_keys_can_be_renewed_one_worker_after_another(tmp_path: Path) -> None:
    """First every service reads the new key, then they encrypt with it, then the old one goes."""
    steps = [await Fingerprint.of(config_of(tmp_path, payload_keys=keys(*n))) for n in ((1,), (1, 2), (2, 1), (2,))]
    assert all(not one.differences(next_one) for one, next_one in pairwise(steps))


async def test_many_who_write_a_stores_id_at_once_read_the_same(tmp_path: Path) -> None:
    folder = Folder(str(tmp_path), "store")
    ids = await asyncio.gather(*(asyncio.to_thread(folder.write_once, "id", str(n).encode()) for n in range(16)))
    assert len(set(ids)) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["id"]


async def test_a_worker_with_another_store_does_not_start_and_gateway_and_doctor_name_it(
    stack: Stack, tmp_path: Path
) -> None:
    client = await connect(stack.config)
    # A worker that another test has killed is listed for a minute.
    identity, *_ = identities = await polling_now(client, stack.config.task_queue, WORKFLOWS, timedelta(seconds=5))
    assert {Fingerprint.read(each) for each in identities} == {await Fingerprint.of(stack.config)}

    other = merge_configs(stack.config, {"storage_url": str(tmp_path / "other")})
    with pytest.raises(MisfitError, check=says(worker=identity.split()[0], queue=other.task_queue)) as refused:
        await run_worker(other)
    watching = Watching(other, TemporalConnection(partial(connect, other)))
    assert str(refused.value).startswith(str(await watching.needs["worker"]()))
    found = {finding.part: finding for finding in await look_at_temporal(other)}
    assert found["workers"].state == "problem"
    assert "AGENTBEATS_GREEN_STORAGE_URL" in found["workers"].remedy


@pytest.mark.parametrize("addresses", ["http://a:1 http://b:1", "dns+http://ues:8100"])
def test_several_simulators_need_as_many_public_addresses(addresses: str) -> None:
    with pytest.raises(ValidationError, check=says()):
        GreenAgentConfig(ues_url=addresses, ues_public_url="http://public:1")
    assert GreenAgentConfig(ues_url=addresses, ues_public_url="http://{host}:1").ues_public_url
    assert GreenAgentConfig(ues_url="http://a:1 http://b:1", ues_public_url="http://c:1 http://d:1").ues_public_url


@workflow.defn(name="Nothing", sandboxed=False)
class Nothing:
    @workflow.run
    async def run(self) -> None: ...


async def test_workers_with_a_build_id_need_a_current_version(stack: Stack) -> None:
    queue = f"versioned-{uuid4()}"
    config = merge_configs(stack.config, {"task_queue": queue})
    client = await connect(config)
    versioned = WorkerDeploymentConfig(
        version=WorkerDeploymentVersion(deployment_name=queue, build_id="one"),
        use_worker_versioning=True,
        default_versioning_behavior=VersioningBehavior.PINNED,
    )
    assert await find_fleet_problem(client, config) is None
    async with Worker(client, task_queue=queue, workflows=[Nothing], deployment_config=versioned):
        await eventually(lambda: find_fleet_problem(client, config))
        sentence = str(await find_fleet_problem(client, config))
        assert says().within(sentence)
        assert f"--deployment-name {queue} --build-id ID" in sentence
        current = SetWorkerDeploymentCurrentVersionRequest(
            namespace=client.namespace, deployment_name=queue, build_id="one", identity="the test"
        )
        await client.workflow_service.set_worker_deployment_current_version(current)
        assert await find_fleet_problem(client, config) is None
