"""0.3 JSON-RPC, written by hand."""

import json
import uuid
from pathlib import Path
from typing import Any

import httpx

from tests.purple_sdk.evaluator import COMPLETE, legacy_request, start, turn


def test_message_send(probe: tuple[str, object]) -> None:
    context = str(uuid.uuid4())
    with httpx.Client(base_url=probe[0]) as http:
        ready = http.post("/", json=legacy_request("message/send", start(), context)).json()["result"]
        assert ready["kind"] == "task"
        assert ready["status"]["state"] == "completed"
        played = http.post("/", json=legacy_request("message/send", turn(1), context)).json()["result"]
        [data, text] = played["artifacts"][0]["parts"]
        assert data["kind"] == "data"
        assert data["data"]["message_type"] == "turn_complete"
        assert json.loads(text["text"]) == data["data"]
        assert http.post("/", json=legacy_request("message/send", COMPLETE, context)).json()["result"]["status"]


def test_message_stream(probe: tuple[str, object], tmp_path: Path) -> None:
    context, gate = str(uuid.uuid4()), tmp_path / "gate"
    plan = {"held": 1, "gate": str(gate)}
    events: list[dict[str, Any]] = []

    def is_working(event: dict[str, Any]) -> bool:
        return bool(event.get("status", {}).get("state") == "working")

    with httpx.Client(base_url=probe[0]) as http:
        http.post("/", json=legacy_request("message/send", start(plan), context))
        with http.stream("POST", "/", json=legacy_request("message/stream", turn(1), context)) as stream:
            for line in stream.iter_lines():
                if line.startswith("data:"):
                    events.append(json.loads(line.removeprefix("data:"))["result"])
                if sum(map(is_working, events)) >= 2:
                    gate.touch()
    kinds = [event["kind"] for event in events]
    assert kinds[0] == "task"
    assert kinds.count("artifact-update") == 1
    assert kinds[-1] == "status-update"
    assert events[-1]["final"] is True
    assert events[-1]["status"]["state"] == "completed"


def test_rest(probe: tuple[str, object]) -> None:
    message = {"role": "ROLE_USER", "messageId": str(uuid.uuid4()), "content": [{"data": {"data": start()}}]}
    answer = httpx.post(f"{probe[0]}/v1/message:send", json={"message": message, "configuration": {"blocking": True}})
    assert answer.status_code == 200, answer.text
    assert answer.json()["task"]["status"]["state"] == "TASK_STATE_COMPLETED"


def test_broken_json_is_answered(probe: tuple[str, object]) -> None:
    answer = httpx.post(probe[0], content=b"{not json", headers={"Content-Type": "application/json"})
    assert answer.json()["error"]["code"] == -32700
