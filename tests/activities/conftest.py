import asyncio
import itertools
import json
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from langchain_core.language_models.chat_models import BaseChatModel

from activities.models.factory import LLMFactory
from activities.scenario_code import processes
from activities.scenario_code.confinement import Limits
from activities.scenario_code.processes import ForkServer
from proctor_protocol.scenario import ScenarioConfig
from tests.activities.lent_fork_server import LentForkServer
from tests.openai_endpoint import OpenAIEndpoint


def scenario_data(**changes: Any) -> dict[str, Any]:
    """A small valid ``scenario.json``: Ana works for nobody, the assistant works for Ana."""
    data: dict[str, Any] = {
        "scenario_id": "small",
        "name": "Small",
        "start_time": "2026-03-02T09:00:00+01:00",
        "end_time": "2026-03-02T12:00:00+01:00",
        "default_time_step": "PT1H",
        "user_prompt": "Ask Ben and Cleo whether Thursday suits them.",
        "user_character": "ana",
        "characters": {
            "ana": {"name": "Ana Alvarez", "email": "ana@home.example", "phone": "+34 600 000 001"},
            "ben": {
                "name": "Ben Brook",
                "email": "Ben@Work.example",
                "phone": "+34 600-000-002",
                "personality": "Terse and punctual.",
                "relationships": {"ana": "your manager"},
                "special_instructions": "Never meet before ten.",
                "response_timing": {"base_delay": "PT10M", "variance": "PT5M"},
                "scripted_replies": [
                    {"pattern": r"thursday.*room", "modality": "calendar", "response": "accepted", "reply": "See you"},
                    {"pattern": r"T15:00", "modality": "calendar", "response": "declined"},
                    {"pattern": r"^lunch\?\n", "modality": "email", "reply": "Not today."},
                    {"pattern": r"thank", "reply": ""},
                    {"pattern": r"thursday.*ten", "reply": "Thursday at ten is fine."},
                ],
            },
            "cleo": {"name": "Cleo Chan", "email": "cleo@else.example"},
        },
        "criteria": [
            {
                "criterion_id": "asked",
                "name": "Asked both",
                "dimension": "accuracy",
                "max_score": 10,
                "evaluation_prompt": "Were both asked?",
            }
        ],
        "initial_state": {"environment": {"modality_states": {"email": {"emails": {}}}}},
    }
    return data | changes


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
