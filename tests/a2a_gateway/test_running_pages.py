"""Pages of work that runs, where nobody works at it yet."""

import uuid
from pathlib import Path

import httpx

from proctor.running import UnderWay
from proctor_storage.temporal import connect
from tests.a2a_gateway.conftest import make_config
from viewer.app import create_app
from workflows.names import ASSESSMENT_WORKFLOW


async def test_an_assessment_that_no_worker_has_taken_has_a_page(temporal: str, tmp_path: Path) -> None:
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
    assert "No turn has begun yet." in page.text
