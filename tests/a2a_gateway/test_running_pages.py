"""Pages of work that runs, where nobody works at it yet."""

import uuid
from datetime import timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest
from temporalio.client import WorkflowHandle

import proctor.viewer.app
from proctor.service.running import UnderWay
from proctor.storage.temporal import connect
from proctor.viewer.app import create_app
from proctor.viewer.live import Live, RunningDetails
from proctor.workflows.names import ASSESSMENT_WORKFLOW
from tests.a2a_gateway.conftest import make_config
from tests.sentences import says
from tests.waiting import PATIENCE


async def test_an_assessment_that_no_worker_has_taken_has_a_page(
    temporal: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    query, waits = WorkflowHandle.query, []

    async def noted(*args: Any, rpc_timeout: timedelta | None = None, **options: Any) -> Any:
        waits.append(rpc_timeout)
        return await query(*args, rpc_timeout=rpc_timeout, **options)

    monkeypatch.setattr(WorkflowHandle, "query", noted)
    soon = timedelta(seconds=proctor.viewer.app._LIVE_SECONDS)
    monkeypatch.setattr("proctor.viewer.app._LIVE_SECONDS", PATIENCE)
    config, name = make_config(temporal, tmp_path), str(uuid.uuid4())
    client = await connect(config)
    handle = await client.start_workflow(ASSESSMENT_WORKFLOW, id=name, task_queue=config.task_queue)
    app = create_app(str(tmp_path / "archive"), live=UnderWay(config))
    try:
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://viewer") as http:
            page = await http.get(f"/view/{name}")
    finally:
        await handle.terminate()
    assert page.status_code == 200, page.text
    assert waits, "no worker was asked"
    assert all(wait is not None and wait < soon for wait in waits)
    assert says().within(page.text)


async def test_a_page_says_when_temporal_did_not_answer(tmp_path: Path) -> None:
    class Away(Live):
        async def details(self, name: str) -> RunningDetails | None:
            raise TimeoutError(name)

    app = create_app(str(tmp_path / "archive"), live=Away())
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://viewer") as http:
        page = await http.get("/view/someone")
        compared = await http.get("/compare?a=someone&b=nobody")
    assert page.status_code == 503
    assert compared.status_code == 404  # what runs is not compared
    assert says().within(page.text)
