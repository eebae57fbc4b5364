"""schemathesis against the gateway's HTTP+JSON side: strangers get 401 whatever they send, and callers never a 500.

By night only, and other requests every night. By default ``test_request_checks.py``, ``test_parts.py`` and
``test_server.py`` send what is wrong, and ``test_callers.py`` has strangers at every route.
"""

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from proctor.a2a_gateway.auth.tokens import Tokens, make_token
from proctor.settings.config import GreenAgentConfig
from tests.a2a_gateway.conftest import running_gateway
from tests.work import only_nightly

ROOT = Path(__file__).parents[2]
TEXT = {"type": "string"}
MESSAGE = {
    "type": "object",
    "properties": {
        "messageId": TEXT,
        "contextId": TEXT,
        "taskId": TEXT,
        "role": {"enum": ["ROLE_USER", "ROLE_AGENT", "user"]},
        "parts": {"type": "array", "items": {"type": "object", "properties": {"text": TEXT, "data": {}}}},
        "metadata": {"type": "object"},
    },
}
SEND = {
    "type": "object",
    "required": ["message", "configuration"],
    "properties": {
        "message": MESSAGE,
        "configuration": {
            "type": "object",
            "required": ["returnImmediately"],
            "properties": {"returnImmediately": {"const": True}, "historyLength": {"type": "integer"}},
        },
    },
}
WEBHOOK = {"type": "object", "properties": {"url": TEXT, "id": TEXT, "token": TEXT}}
LIST = {
    "pageSize": {"type": "integer"},
    "pageToken": TEXT,
    "contextId": TEXT,
    "status": TEXT,
    "historyLength": {"type": "integer"},
}


def document(statuses: list[int]) -> dict[str, Any]:
    """What callers of protocol 1.0 may send; the gateway has no such document, as A2A describes it once for all."""

    def operation(*names: str, body: Any = None, query: dict[str, Any] | None = None) -> dict[str, Any]:
        inside = [{"name": name, "in": "path", "required": True, "schema": TEXT} for name in names]
        asked = [{"name": name, "in": "query", "schema": kind} for name, kind in (query or {}).items()]
        content = {"content": {"application/json": {"schema": body}}, "required": True} if body else None
        return {
            "parameters": [*inside, *asked],
            **({"requestBody": content} if content else {}),
            "responses": {str(status): {"description": "as A2A has it"} for status in statuses},
        }

    hooks = "/tasks/{id}/pushNotificationConfigs"
    paths = {
        "/message:send": {"post": operation(body=SEND)},
        "/agent/messages": {"post": operation(body={"type": "object", "properties": {"message": {"type": "array"}}})},
        "/tasks": {"get": operation(query=LIST)},
        "/tasks/{id}": {"get": operation("id", query={"historyLength": {"type": "integer"}})},
        "/tasks/{id}:cancel": {"post": operation("id")},
        "/tasks/{id}:subscribe": {"get": operation("id")},
        hooks: {"post": operation("id", body=WEBHOOK), "get": operation("id")},
        f"{hooks}/{{push}}": {"get": operation("id", "push"), "delete": operation("id", "push")},
        "/view/{id}": {"get": operation("id", query={"turn": TEXT})},
    }
    return {"openapi": "3.0.3", "info": {"title": "A2A", "version": "1.0"}, "paths": paths}


@only_nightly
@pytest.mark.parametrize("has_token", [False, True])
async def test_whatever_is_sent_strangers_stay_outside_and_callers_get_an_answer(
    config: GreenAgentConfig, tmp_path: Path, has_token: bool
) -> None:
    token, text = make_token("alice")
    config = config.model_copy(update={"state": str(tmp_path), "tokens_file": str(tmp_path / "tokens.json")})
    Tokens(tmp_path / "tokens.json").add(token)
    statuses = [200, 303, 400, 404, 405, 409, 413, 415, 422] if has_token else [401]
    (tmp_path / "a2a.json").write_text(json.dumps(document(statuses)))
    command = [
        *(sys.executable, "-m", "schemathesis.cli", "run", str(tmp_path / "a2a.json"), "--no-color"),
        *("--checks", "not_a_server_error,status_code_conformance", "--continue-on-failure"),
        *("--phases", "fuzzing", "--max-examples", "500", "--header", "A2A-Version: 1.0"),
        *(("--header", f"Authorization: Bearer {text}") if has_token else ()),
    ]
    async with running_gateway(config) as gateway:
        ran = await asyncio.to_thread(
            subprocess.run,
            [*command, "--url", gateway.url.rstrip("/")],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
            check=False,
        )
    assert ran.returncode == 0, ran.stdout[-6000:] + ran.stderr[-2000:]
