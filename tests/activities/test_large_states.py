"""A large initial state is in the store once: in the scenario's frozen files, from which it is read when it is due."""

import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from temporalio.testing import ActivityEnvironment

from proctor.activities.admission.activities import AdmissionActivities
from proctor.activities.admission.payloads import AdmitInput
from proctor.activities.plan import Plan
from proctor.service.parts import Parts, open_parts
from proctor.settings.config import GreenAgentConfig
from proctor.storage.blobs import BlobNotFoundError, blob_ref
from tests.assessments.packages import edited, write_package
from tests.sizes.mailboxes import filled
from tests.stack import request_json

LARGE = 4_100_000


@pytest.fixture
async def parts(tmp_path: Path, quick_fork_servers: None) -> AsyncIterator[Parts]:
    (tmp_path / "scenarios").mkdir()
    config = GreenAgentConfig(scenarios_dir=str(tmp_path / "scenarios"), storage_url=str(tmp_path / "storage"))
    async with open_parts(config) as made:
        yield made


async def admit(parts: Parts, name: str, size: int) -> Plan:
    """Write a scenario whose initial state has so many bytes, and admit an assessment of it."""
    state = edited("initial_state.json", filled(size))
    write_package(Path(parts.config.scenarios_dir), name, files={"initial_state.json": state})
    given = AdmitInput(task_id="t", request=request_json("http://127.0.0.1:9", name))
    plan: Plan = await ActivityEnvironment().run(
        AdmissionActivities(parts.config, parts.store, parts.scenarios).admit, given
    )
    return plan


async def state_of(parts: Parts, plan: Plan) -> bytes:
    return b"".join([piece async for piece in parts.scenarios.read_initial_state(plan)])


async def test_a_large_one_is_read_from_the_frozen_files_and_a_fork_keeps_none_of_its_own(
    parts: Parts, tmp_path: Path
) -> None:
    plan = await admit(parts, "large", LARGE)
    assert plan.is_state_in_package
    assert plan.initial_state.size > LARGE
    with pytest.raises(BlobNotFoundError):
        await parts.store.get(plan.initial_state)
    stored = sum(path.stat().st_size for path in (tmp_path / "storage").rglob("*") if path.is_file())
    assert stored < 0.55 * LARGE, "once, and packed well"

    (tmp_path / "scenarios" / "large" / "initial_state.json").write_text("edited after admission")
    state = await state_of(parts, plan)
    assert blob_ref(state) == plan.initial_state
    assert len(json.loads(state)["environment"]["modality_states"]["email"]["emails"]) == LARGE // 10_000

    package = await parts.scenarios.read_package(await parts.scenarios.unpack_frozen_code("large", plan.package))
    assert (package.initial_state, package.large_state) == (b"", plan.initial_state)


async def test_a_small_one_is_a_blob(parts: Parts) -> None:
    plan = await admit(parts, "small", 10_000)
    assert not plan.is_state_in_package
    assert await state_of(parts, plan) == await parts.store.get(plan.initial_state)
