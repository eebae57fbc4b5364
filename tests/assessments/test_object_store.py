"""A whole assessment whose store and archive are in S3."""

import os
from pathlib import Path
from unittest.mock import patch

import httpx
from a2a.types import GetTaskRequest

from proctor.storage.archive import Archive
from tests.a2a_gateway.callers import sdk_client
from tests.assessments.deployments import services
from tests.assessments.scripts import diligent
from tests.object_stores import BUCKET, s3
from tests.stack import Stack, assess, serving
from tests.work import only_nightly


@only_nightly
async def test_an_assessment_with_store_and_archive_in_s3(stack: Stack) -> None:
    local = {place: _files(Path(place)) for place in (stack.config.storage_url, stack.config.archive_url)}
    with s3() as store:
        places = {
            "AGENTBEATS_GREEN_STORAGE_URL": f"s3://{BUCKET}/storage",
            "AGENTBEATS_GREEN_ARCHIVE_URL": f"s3://{BUCKET}/archive",
        }
        async with services(stack, "s3", {**places, **store.environment}, {}) as gateway, serving(diligent) as agent:
            assessed = await assess(gateway, agent, "tiny")
            assert assessed.state == "completed", assessed.sentence
            assert assessed.results is not None
            name = assessed.results.assessment_id
            async with sdk_client(gateway) as caller:
                assert (await caller.get_task(GetTaskRequest(id=name))).artifacts
            async with httpx.AsyncClient() as browser:
                assert "tiny" in (await browser.get(f"{gateway}/view/{name}")).text
        with patch.dict(os.environ, store.environment):
            kept = Archive(f"s3://{BUCKET}/archive")
            [entry] = kept.entries()
            assert kept.results(entry) == assessed.results
            assert len(list(kept.states(entry))) == assessed.results.turns_taken + 1
        objects = store.client().list_objects_v2(Bucket=BUCKET, Prefix="storage/")
        assert objects["KeyCount"] > 10
    assert {place: _files(Path(place)) for place in local} == local


def _files(folder: Path) -> set[Path]:
    return {path for path in folder.rglob("*") if path.is_file()}
