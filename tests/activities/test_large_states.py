"""A large initial state is in the store once: in the scenario's frozen files, from which it is read when it is due."""

import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from temporalio.testing import ActivityEnvironment

from activities.admission.activities import AdmissionActivities
from activities.deployment import Deployment
from activities.plan import AdmitInput, Plan
from proctor_protocol.config import GreenAgentConfig
from proctor_storage.blobs import BlobNotFoundError, blob_ref
from tests.assessments.packages import edited, write_package
from tests.sizes.mailboxes import filled
from tests.stack import request_json

LARGE = 5_000_000


@pytest.fixture
async def deployment(tmp_path: Path) -> AsyncIterator[Deployment]:
    for name, size in (("small", 10_000), ("large", LARGE)):
        state = edited("initial_state.json", filled(size))
        write_package(tmp_path / "scenarios", name, files={"initial_state.json": state})
    config = GreenAgentConfig(scenarios_dir=str(tmp_path / "scenarios"), storage_url=str(tmp_path / "storage"))
    one = Deployment(config)
    yield one
    await one.aclose()


async def admit(deployment: Deployment, name: str) -> Plan:
    given = AdmitInput(task_id="t", request=request_json("http://127.0.0.1:9", name))
    plan: Plan = await ActivityEnvironment().run(AdmissionActivities(deployment).admit, given)
    return plan


async def state_of(deployment: Deployment, plan: Plan) -> bytes:
    return b"".join([piece async for piece in deployment.read_initial_state(plan)])


async def test_a_large_one_is_read_from_the_frozen_files(deployment: Deployment, tmp_path: Path) -> None:
    plan = await admit(deployment, "large")
    assert plan.is_state_in_package
    assert plan.initial_state.size > LARGE
    with pytest.raises(BlobNotFoundError):
        await deployment.store.get(plan.initial_state)
    stored = sum(path.stat().st_size for path in (tmp_path / "storage").rglob("*") if path.is_file())
    assert stored < 0.55 * LARGE, "once, and packed well"

    (tmp_path / "scenarios" / "large" / "initial_state.json").write_text("edited after admission")
    state = await state_of(deployment, plan)
    assert blob_ref(state) == plan.initial_state
    assert len(json.loads(state)["environment"]["modality_states"]["email"]["emails"]) == LARGE // 10_000


async def test_a_fork_keeps_none_of_its_own_either(deployment: Deployment) -> None:
    plan = await admit(deployment, "large")
    assert plan.package is not None
    package = await deployment.read_package(await deployment.unpack_frozen_code("large", plan.package))
    assert (package.initial_state, package.large_state) == (b"", plan.initial_state)


async def test_a_small_one_and_that_of_an_earlier_plan_are_blobs(deployment: Deployment) -> None:
    plan = await admit(deployment, "small")
    assert not plan.is_state_in_package
    assert await state_of(deployment, plan) == await deployment.store.get(plan.initial_state)

    earlier = (await admit(deployment, "large")).model_dump(mode="json")
    del earlier["is_state_in_package"]
    content = b'{"environment": {}}'
    earlier["initial_state"] = (await deployment.store.put(content)).model_dump()
    assert await state_of(deployment, Plan.model_validate(earlier)) == content
