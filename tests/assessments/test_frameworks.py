"""The examples on frameworks play a turn against a scripted model of their protocol; each has its own environment."""

import os
import sys
from pathlib import Path
from typing import Any

import pytest

from proctor.protocol.archive import trajectory_file
from proctor.storage.archive import Archive
from tests.assessments.test_plain_agents import downloads, run, serving
from tests.scripted_model import INPUT, OUTPUT, ScriptedModel
from tests.stack import Stack, assess

_MAIL = {
    "from_address": "ana@home.example",
    "to_addresses": ["ben@work.example"],
    "subject": "Lunch?",
    "body_text": "Thursday? Thanks!",
}
_NEEDS = {
    "langgraph": ["langchain", "langchain-openai", "langchain-mcp-adapters"],
    "openai_agents": ["openai-agents"],
    "pydantic_ai": ["pydantic-ai-slim[openai,mcp]"],
    "google_adk": ["google-adk", "mcp"],
    "smolagents": ["smolagents[openai,mcp]", "mcp[ws]<2"],
}
_OWN = ["a2a-sdk[http-server]>=1.3,<2", "httpx", "isodate", "protobuf", "pydantic-settings", "sse-starlette", "uvicorn"]
_ENVIRONMENTS = "PROCTOR_TEST_FRAMEWORKS"
"""A folder of environments that are there already, named as the frameworks."""


@downloads
@pytest.mark.parametrize("framework", _NEEDS)
async def test_an_example_on_a_framework(stack: Stack, tmp_path: Path, framework: str) -> None:
    python = _environment(framework, tmp_path)
    calls: list[tuple[str, dict[str, Any]]] = [
        ("email_send", _MAIL),
        ("email_query", {"folder": "sent"}),
        ("final_answer", {"answer": "Done."}),
    ]
    with ScriptedModel({1: calls}) as model:  # the last is a tool of smolagents; the others end without it
        module = f"purple_sdk.examples.frameworks.with_{framework}"
        command = [python, "-m", module, "--model", "gemini-2.5-flash", "--model-base-url", model.url]
        with serving(*command, folder=Path.cwd()) as url:
            assessed = await assess(stack, url, "tiny", max_turns=1)
    results = assessed.results
    assert results is not None, assessed.sentence
    assert [(entry.action, entry.success) for entry in results.action_log] == [("email.send", True)], assessed.sentence
    assert {c.criterion_id: c.score for c in results.criteria_results}["asked"] == 10
    assert (results.action_report.unreported, results.action_report.never_happened) == ([], [])
    (usage,) = results.participant_usage
    assert (usage.calls, usage.input_tokens, usage.output_tokens) == (3, 3 * INPUT, 3 * OUTPUT)
    archive = Archive(stack.config.archive_url)
    assert b"email_send" in archive.read(archive.find(results.assessment_id), trajectory_file(1))


def _environment(framework: str, folder: Path) -> str:
    """The Python of an environment that has the framework."""
    known = os.environ.get(_ENVIRONMENTS)
    python = Path(known or folder, framework, "bin", "python")
    if not python.exists():
        run(sys.executable, "-m", "venv", framework, folder=python.parents[2])
        run(str(python), "-m", "pip", "install", "--quiet", *_NEEDS[framework], *_OWN, folder=folder)
    return str(python)
