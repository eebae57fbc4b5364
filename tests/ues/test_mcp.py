"""The simulation as MCP tools: the routes' own names, fields, permissions and refusals, and the same event log."""

import json
import subprocess
import sys
from typing import Any

import httpx
import pytest

from proctor.ues.http.mcp import RouteTool, _make_tool
from proctor.ues.http.routes import SIMULATION_ROUTES
from tests.sentences import says
from tests.ues.helpers import Server, Sim, receive

HEADERS = {"Accept": "application/json, text/event-stream", "MCP-Protocol-Version": "2025-06-18"}
TOOLS: dict[str, RouteTool] = {
    tool.name: tool for tool in (_make_tool(route) for route in SIMULATION_ROUTES if route.participant)
}


def send(sim: Sim, method: str, **params: Any) -> httpx.Response:
    message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    return sim.post("/mcp", json=message, headers=HEADERS)


def ask(sim: Sim, method: str, **params: Any) -> Any:
    answer = send(sim, method, **params)
    assert answer.status_code == 200, answer.text
    return answer.json()["result"]


def use(sim: Sim, tool: str, **arguments: Any) -> tuple[bool, Any]:
    """Whether it went well, and what it said."""
    result = ask(sim, "tools/call", name=tool, arguments=arguments)
    [content] = result["content"]
    return not result["isError"], json.loads(content["text"])


def test_it_says_what_it_is(sim: Sim) -> None:
    hello = ask(
        sim.participant(),
        "initialize",
        protocolVersion="2025-06-18",
        capabilities={},
        clientInfo={"name": "test", "version": "1"},
    )
    assert hello["serverInfo"]["name"] == "user-environment-simulator"
    assert "tools" in hello["capabilities"]


def test_its_tools_are_the_routes_of_a_participant_with_their_fields(sim: Sim) -> None:
    tools = {tool["name"]: tool for tool in ask(sim.participant(), "tools/list")["tools"]}
    assert set(tools) == set(TOOLS)
    assert {"email_send", "sms_react", "calendar_respond", "chat_send", "contacts_query", "simulator_time"} <= set(
        tools
    )
    assert not {"email_receive", "simulator_time_advance", "keys_create", "scenario_export_full"} & set(tools)
    document = sim.ok("GET", "/openapi.json")
    for name in ("email_send", "calendar_create", "sms_query"):
        schema = tools[name]["inputSchema"]
        body = document["paths"][TOOLS[name].route.path]["post"]["requestBody"]["content"]["application/json"]["schema"]
        model = document["components"]["schemas"][body["$ref"].rpartition("/")[2]]
        assert set(schema["properties"]) == set(model["properties"])
        assert schema.get("required", []) == model.get("required", [])
    assert tools["email_query"]["annotations"]["readOnlyHint"] is True
    assert tools["email_send"]["annotations"]["readOnlyHint"] is False


def test_what_it_does_is_done_and_stands_in_the_logs_like_a_request(sim: Sim) -> None:
    mail = receive(sim)
    user = sim.participant()
    done, told = use(user, "email_star", message_ids=[mail])
    assert (done, told["status"]) == (True, "executed")
    assert sim.state("email")["emails"][mail]["is_starred"]
    by_request = user.post("/email/unstar", json={"message_ids": [mail]}).json()
    by_tool, of_request = (sim.ok("GET", f"/events/{answer['event_id']}") for answer in (told, by_request))
    assert by_tool["agent_id"] == of_request["agent_id"] == user.key_id
    assert by_tool["metadata"] == of_request["metadata"]
    logged = sim.ok("GET", "/access-logs", key_id=user.key_id)["logs"]
    assert {(entry["method"], entry["path"]) for entry in logged} == {
        ("POST", "/mcp"),
        ("POST", "/email/star"),
        ("POST", "/email/unstar"),
    }


def test_readings_answer_what_their_routes_answer(sim: Sim) -> None:
    receive(sim, "One")
    user = sim.participant()
    assert use(user, "email_query", subject_contains="One") == (True, user.query("email", subject_contains="One"))
    assert use(user, "email_state", compact=True) == (True, user.state("email", compact=True))
    assert use(user, "simulator_time") == (True, user.ok("GET", "/simulator/time"))
    path = "/environment/modalities/chat"
    assert use(user, "environment_modalities_modality_name", modality_name="chat") == (True, user.ok("GET", path))


def test_a_key_has_the_tools_of_its_permissions_and_no_others(sim: Sim) -> None:
    reader = sim.key("email:query", "time:read")
    assert [tool["name"] for tool in ask(reader, "tools/list")["tools"]] == [
        "simulator_time",
        "email_query",
        "email_get",
        "email_attachment",
    ]
    done, told = use(reader, "email_send", to_addresses=["a@b.c"])
    assert (done, told["detail"]) == (False, says("email:send"))
    assert sim.query("email", folder="sent")["total_count"] == 0


@pytest.mark.parametrize(
    ("tool", "arguments", "said"),
    [
        ("email_star", {"message_ids": "m1"}, "Validation Error"),
        ("email_star", {}, "Validation Error"),
        ("email_query", {"limit": 0}, "Validation Error"),
        ("environment_modalities_modality_name", {"modality_name": "../../keys"}, "Not Found"),
        ("environment_modalities_modality_name", {}, "Not Found"),
    ],
)
def test_what_does_not_fit_is_told_as_the_route_tells_it(sim: Sim, tool: str, arguments: Any, said: str) -> None:
    done, told = use(sim.participant(), tool, **arguments)
    assert (done, told["error"]) == (False, said)


def test_an_action_that_failed_is_an_error(sim: Sim) -> None:
    done, answer = use(sim.participant(), "email_star", message_ids=["no such email"])
    assert (done, answer["status"]) == (False, "failed")


def test_an_unknown_argument_is_refused_by_name_and_nothing_is_done(sim: Sim) -> None:
    result = ask(
        sim.participant(),
        "tools/call",
        name="email_reply",
        arguments={"message_id": receive(sim), "body_text": "Yes", "body": "Yes"},
    )
    assert result["isError"]
    assert says("email_reply", "body", "message_id").within(result["content"][0]["text"])
    assert sim.query("email", folder="sent")["total_count"] == 0
    assert TOOLS["email_reply"].schema["additionalProperties"] is False, "models are told"
    free = {"modality_name": "chat", "colour": "red"}
    assert use(sim.participant(), "environment_modalities_modality_name_query", **free)[0]


def test_every_tool_and_every_argument_is_described() -> None:
    def undescribed(schema: Any, definitions: Any, name: str) -> list[str]:
        found = []
        for field, inner in schema.get("properties", {}).items():
            if not inner.get("description"):
                found.append(f"{name}.{field}")
        for definition, inner in definitions.items():
            found += undescribed(inner, {}, f"{name}.{definition}")
        return found

    missing = [
        place for name, tool in TOOLS.items() for place in undescribed(tool.schema, tool.schema.get("$defs", {}), name)
    ]
    assert missing == []
    assert all(len(tool.route.summary.split()) > 2 for tool in TOOLS.values())


def test_answering_passing_on_and_reading_one_email(sim: Sim) -> None:
    mail = receive(sim, "Plans", cc_addresses=["carl@example.com"])
    user = sim.participant()
    done, whole = use(user, "email_get", message_id=mail)
    assert (done, whole["subject"]) == (True, "Plans")
    assert use(user, "email_reply", message_id=mail, body_text="Yes", to_all=True)[0]
    assert use(user, "email_forward", message_id=mail, to_addresses=["dora@example.com"], body_text="See below")[0]
    passed_on, answered = sorted(sim.query("email", folder="sent")["emails"], key=lambda one: str(one["subject"]))
    assert (answered["subject"], answered["to_addresses"]) == ("Re: Plans", [whole["from_address"]])
    assert answered["cc_addresses"] == ["carl@example.com"]
    assert answered["thread_id"] == passed_on["thread_id"] == whole["thread_id"]
    assert (passed_on["subject"], passed_on["in_reply_to"]) == ("Fwd: Plans", mail)
    assert passed_on["body_text"].startswith("See below")
    assert whole["body_text"] in passed_on["body_text"]
    operations = [event["data"]["operation"] for event in sim.ok("GET", "/events", agent_id=user.key_id)["events"]]
    assert operations == ["send", "send"]
    for tool, arguments in (
        ("email_reply", {"body_text": "x"}),
        ("email_forward", {"to_addresses": ["a@example.com"]}),
    ):
        done, answer = use(user, tool, message_id="nothing", **arguments)
        assert (done, answer["status"]) == (False, "failed")
    assert use(user, "email_get", message_id="nothing")[1]["error"] == "Not Found"


def test_pages_of_other_origins_are_refused(sim: Sim) -> None:
    user = sim.participant()
    message = {"jsonrpc": "2.0", "id": 1, "method": "ping", "params": {}}

    def status(origin: str) -> int:
        return user.post("/mcp", json=message, headers={**HEADERS, "Origin": origin}).status_code

    assert status("http://localhost:3000") == status("http://127.0.0.1") == status("http://[::1]:80") == 200
    for foreign in ("https://evil.example", "null", "http://127.0.0.1.evil.example", "http://[", ""):
        assert status(foreign) == 403, foreign


def test_a_tool_that_is_none_is_told(sim: Sim) -> None:
    for name in ("email_receive", "simulation_reset", "nothing"):
        result = ask(sim.participant(), "tools/call", name=name, arguments={})
        assert result["isError"]
        assert says(name).within(result["content"][0]["text"])


def test_strangers_and_other_ways_to_ask_are_refused(sim: Sim) -> None:
    user = sim.participant()
    stranger = Sim(sim.server, sim.made, "not-a-key")
    assert send(stranger, "tools/list").status_code == 401
    assert user.get("/mcp", headers=HEADERS).status_code == 405
    assert user.delete("/mcp").status_code == 405
    assert user.post("/mcp", content=b"x" * 300_000, headers=HEADERS).status_code == 413
    as_json = {**HEADERS, "Content-Type": "application/json"}
    deep = b'{"jsonrpc":"2.0","id":1,"method":"ping","params":' + b'{"a":' * 9000 + b"1" + b"}" * 9001
    for body in (b"{", b"", b"[" * 9000, deep, b"\xff"):
        assert user.post("/mcp", content=body, headers=as_json).status_code == 422
    assert user.post("/mcp/more", json={}).status_code == 404
    sim.ok("DELETE", f"/keys/{user.key_id}")
    assert send(user, "tools/list").status_code == 401


def test_nobody_from_the_past_gets_in_by_this_door(server: Server) -> None:
    admin = "an-admin-key-of-32-characters-xx"
    step = {"fence": 5, "admin_key": admin, "anew": True, "seed": 7}
    address = "/simulations/fenced-mcp"
    assert server.client.post(f"{address}/step", content=json.dumps(step).encode() + b"\n").status_code == 200
    params = {"name": "chat_send", "arguments": {"role": "assistant", "content": "Hello"}}
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    for fence, error in (("4", True), ("5", False)):
        headers = {**HEADERS, "X-API-Key": admin, "X-UES-Fence": fence}
        result = server.client.post(f"{address}/mcp", json=message, headers=headers).json()["result"]
        assert result["isError"] is error, result
        assert not error or says("fence 4").within(result["content"][0]["text"])
    server.client.delete(address, headers={"X-UES-Fence": "5"})


def test_a_server_that_is_not_spoken_to_in_mcp_loads_nothing_of_it() -> None:
    code = "import sys, proctor.ues.server; print([name for name in ('mcp', 'starlette') if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
