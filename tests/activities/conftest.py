import asyncio
import itertools
import json
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from langchain_core.language_models.chat_models import BaseChatModel

from proctor.activities.models.factory import LLMFactory
from proctor.activities.scenario_code import processes
from proctor.activities.scenario_code.confinement import Limits
from proctor.activities.scenario_code.processes import ForkServer
from proctor.protocol.scenario import ScenarioConfig
from tests.activities.lent_fork_server import LentForkServer
from tests.activities.scenario_code import scenario_data
from tests.openai_endpoint import OpenAIEndpoint


@pytest.fixture
def scenario() -> ScenarioConfig:
    return ScenarioConfig.model_validate(scenario_data())


@pytest.fixture
def write_scenario(tmp_path: Path) -> Callable[..., Path]:
    """Write a package into a scenarios folder and return the folder; ``files`` are its other files by name."""

    def write(folder: str = "small", files: dict[str, str] | None = None, **changes: Any) -> Path:
        directory = tmp_path / "scenarios" / folder
        directory.mkdir(parents=True, exist_ok=True)
        data = scenario_data(scenario_id=folder) | changes
        (directory / "scenario.json").write_text(json.dumps(data))
        for name, content in (files or {}).items():
            (directory / name).parent.mkdir(parents=True, exist_ok=True)
            (directory / name).write_text(content)
        return tmp_path / "scenarios"

    return write


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def lender() -> AsyncIterator[ForkServer]:
    """The fork server that the tests of a file share."""
    fork_server = ForkServer(Limits())
    yield fork_server
    await fork_server.aclose()


@pytest.fixture
def one_fork_server(lender: ForkServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every ``ScenarioCode`` that a test makes forks from the shared one; such tests have the loop of their module."""
    lock = asyncio.Lock()
    monkeypatch.setattr(processes, "ForkServer", lambda limits: LentForkServer(lender, limits, lock))


@pytest.fixture
def endpoint() -> Iterator[OpenAIEndpoint]:
    with OpenAIEndpoint() as server:
        yield server


_names = itertools.count()


@pytest.fixture
def llm(endpoint: OpenAIEndpoint) -> BaseChatModel:
    """A model of the endpoint, under a name of its own, since what a server can do is remembered by name."""
    return LLMFactory.create(f"openai/test-{next(_names)}", temperature=0.0, base_url=endpoint.base_url, timeout=60)
