"""Fences: nobody from the past may act on a simulation, bring it back, or keep a key."""

import json
import socket
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from proctor.ues.fences import Ended
from tests.ues.helpers import HOST_KEY, Server

ADMIN = "an-admin-key-of-32-characters-xx"
USER: dict[str, Any] = {
    "key_id": "participant-1",
    "name": "participant",
    "secret": "participant-secret-1",
    "permissions": ["chat:*"],
}
AT = "2026-03-02T09:00:00+00:00"


@pytest.fixture
def http(server: Server) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=server.url, headers={"X-API-Key": HOST_KEY}) as client:
        yield client


class Simulation:
    """One simulation, as an evaluator gets at it."""

    names = iter(range(1000))

    def __init__(self, http: httpx.Client) -> None:
        self._http = http
        self.name = f"fenced-{next(self.names)}"

    def step(self, fence: int, content: bytes = b"", **asked: Any) -> httpx.Response:
        body = json.dumps({"fence": fence, "admin_key": ADMIN, **asked}).encode() + b"\n" + content
        return self._http.post(f"/simulations/{self.name}/step", content=body)

    def made(self, fence: int) -> tuple[str, bytes]:
        """Make it, and take a checkpoint: digest and content."""
        answer = self.step(fence, anew=True, seed=7, takes_checkpoint=True)
        assert answer.status_code == 200, answer.text
        said, _, content = answer.content.partition(b"\n")
        return json.loads(said)["checkpoint"], content

    def ask(self, method: str, path: str, fence: int | None = None, key: str = ADMIN, **body: Any) -> httpx.Response:
        headers = {"X-API-Key": key, **({} if fence is None else {"X-UES-Fence": str(fence)})}
        return self._http.request(
            method, f"/simulations/{self.name}{path}", headers=headers, json=body if method == "POST" else None
        )

    def end(self, fence: int | None = None) -> httpx.Response:
        headers = {} if fence is None else {"X-UES-Fence": str(fence)}
        return self._http.delete(f"/simulations/{self.name}", headers=headers)

    def say(self, secret: str) -> int:
        return self.ask("POST", "/chat/send", key=secret, role="assistant", content="Hello.").status_code


@pytest.fixture
def simulation(http: httpx.Client) -> Simulation:
    return Simulation(http)


CHANGES = {
    "events": ("POST", "/events", {"scheduled_time": AT, "modality": "chat", "data": {}}),
    "clock": ("POST", "/simulator/time/advance", {"seconds": 60}),
    "restore": ("POST", "/simulation/restore", {}),
    "mark": ("POST", "/simulation/checkpoint/mark", {"mark": "x"}),
    "keys": ("POST", "/keys", {"name": "x", "permissions": ["*"]}),
    "a key's end": ("DELETE", "/keys/reader", {}),
    "start": ("POST", "/simulation/start", {}),
    "import": ("POST", "/scenario/import/full", {"scenario": {}}),
    "an action": ("POST", "/chat/send", {"role": "user", "content": "Hello."}),
}


@pytest.mark.parametrize(("method", "path", "body"), CHANGES.values(), ids=CHANGES)
def test_every_change_needs_the_newest_fence(
    simulation: Simulation, method: str, path: str, body: dict[str, Any]
) -> None:
    digest, _ = simulation.made(100)
    for fence, status in ((None, 428), (99, 412), (101, 409)):
        assert simulation.ask(method, path, fence, **body).status_code == status
    where = simulation.ask("GET", "/simulation/checkpoint/current", 100).json()
    assert (where["checkpoint"], where["fence"], where["is_untouched"]) == (digest, 100, True)
    assert simulation.ask(method, path, 100, **body).status_code not in (409, 412, 428)


def test_reading_needs_none_but_tells_who_was_overtaken(simulation: Simulation) -> None:
    simulation.made(100)
    assert simulation.ask("GET", "/chat/state").status_code == 200
    assert simulation.ask("POST", "/chat/query").status_code == 200
    assert simulation.ask("GET", "/chat/state", 99).status_code == 412


def test_a_claim_from_the_past_is_refused_whatever_it_asks_for(simulation: Simulation) -> None:
    digest, content = simulation.made(100)
    assert simulation.step(200, checkpoint=digest).status_code == 200
    for asked in ({"anew": True}, {"checkpoint": digest}, {"keep": "mine"}, {"checkpoint": digest, "to": AT}):
        refused = simulation.step(199, content, **asked)
        assert refused.status_code == 412
        assert refused.json()["detail"]["fence"] == 200
    assert simulation.step(199, checkpoint=digest, looks=True).status_code == 200  # it stands there: nothing changes
    assert simulation.ask("GET", "/simulation/checkpoint/current").json()["fence"] == 200


def test_a_claim_puts_the_simulation_where_it_is_to_stand(simulation: Simulation) -> None:
    digest, content = simulation.made(100)
    life = simulation.step(101, checkpoint=digest).json()["life"]
    assert simulation.ask("POST", "/simulation/start", 101).status_code == 200
    wanted = simulation.step(102, checkpoint=digest)
    assert (wanted.status_code, wanted.json()["detail"]["needs"]) == (409, digest)
    assert simulation.ask("GET", "/simulation/checkpoint/current").json()["fence"] == 101  # it claimed nothing
    assert simulation.step(102, b"something else", checkpoint=digest).status_code == 400
    back = simulation.step(102, content, checkpoint=digest, mark="turn 1").json()
    assert (back["checkpoint"], back["mark"], back["fence"]) == (digest, "turn 1", 102)
    assert back["life"] != life


def test_work_in_hand_is_taken_over_as_it_is(simulation: Simulation) -> None:
    digest, _ = simulation.made(100)
    simulation.step(101, checkpoint=digest, mark="turn 1", key=USER)
    assert simulation.say(USER["secret"]) == 200
    kept = simulation.step(102, keep="turn 1").json()
    assert (kept["mark"], kept["fence"], kept["is_untouched"]) == ("turn 1", 102, False)
    assert simulation.step(103, keep="turn 2").status_code == 404
    assert simulation.ask("POST", "/simulator/time/advance", 101, seconds=1).status_code == 412


def test_a_new_key_ends_the_old_one_in_the_same_instant(simulation: Simulation) -> None:
    digest, content = simulation.made(100)
    simulation.step(101, checkpoint=digest, key=USER)
    other = {**USER, "key_id": "participant-2", "secret": "participant-secret-2"}
    simulation.step(102, content, checkpoint=digest, key=other)
    assert (simulation.say(USER["secret"]), simulation.say(other["secret"])) == (401, 200)
    simulation.step(103, content, checkpoint=digest, key={**other, "key_id": "participant-3", "secret": "3" * 16})
    assert (simulation.say(USER["secret"]), simulation.say(other["secret"])) == (401, 401)
    closed = simulation.step(104, content, checkpoint=digest, revoke="participant")
    assert closed.status_code == 200
    assert simulation.say("3" * 16) == 401


def test_a_new_key_ends_the_old_one_where_nothing_is_set_back(simulation: Simulation) -> None:
    """The simulation is where it is to stand, with the old key in it: no restored checkpoint takes that away."""
    digest, _ = simulation.made(100)
    simulation.step(101, checkpoint=digest, key=USER)
    at = simulation.ask("GET", "/simulation/checkpoint", 101).headers["etag"].strip('"')
    other = {**USER, "key_id": "participant-2", "secret": "participant-secret-2"}
    assert simulation.step(102, checkpoint=at, key=other).status_code == 200
    assert (simulation.say(USER["secret"]), simulation.say(other["secret"])) == (401, 200)
    at = simulation.ask("GET", "/simulation/checkpoint", 102).headers["etag"].strip('"')
    assert simulation.step(103, checkpoint=at, revoke="participant").status_code == 200
    assert simulation.say(other["secret"]) == 401


def test_a_request_that_was_begun_with_a_key_that_has_been_revoked_since(
    simulation: Simulation, http: httpx.Client
) -> None:
    """Its head came in time and its body doesn't: whoever sends slowly must not act after the claim."""
    digest, content = simulation.made(100)
    simulation.step(101, checkpoint=digest, key=USER)
    body = b'{"role": "assistant", "content": "Hello."}'
    head = (
        f"POST /simulations/{simulation.name}/chat/send HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"
        f"X-API-Key: {USER['secret']}\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    with socket.create_connection((http.base_url.host, http.base_url.port or 0)) as slow:
        slow.sendall(head.encode() + body[:10])
        http.get("/simulations")  # by now the server has read what was sent before
        other = {**USER, "key_id": "participant-2", "secret": "participant-secret-2"}
        assert simulation.step(102, content, checkpoint=digest, key=other).status_code == 200
        slow.sendall(body[10:])
        assert slow.makefile("rb").readline().split()[1] == b"401"
    assert simulation.ask("GET", "/chat/state").json()["messages"] == []


def test_actions_name_the_key_that_did_them(simulation: Simulation) -> None:
    digest, _ = simulation.made(100)
    simulation.step(101, checkpoint=digest, key=USER)
    now = simulation.ask("GET", "/simulator/time").json()["current_time"]
    simulation.say(USER["secret"])
    checkpoint = simulation.ask("GET", "/simulation/checkpoint", 101).headers["etag"].strip('"')
    read = simulation.step(102, checkpoint=checkpoint, actions_of="participant", actions_at=now).json()
    assert [action["agent_id"] for action in read["actions"]] == ["participant-1"]
    assert [message["content"] for message in read["news"]["chat"]["messages"]] == ["Hello."]


def test_nobody_from_the_past_brings_back_what_has_ended(simulation: Simulation, http: httpx.Client) -> None:
    digest, content = simulation.made(100)
    assert simulation.end().status_code == 428
    assert simulation.end(99).status_code == 412
    assert simulation.end(200).status_code == 200
    assert simulation.step(199, content, checkpoint=digest).status_code == 412
    assert simulation.step(199, anew=True).status_code == 412
    assert http.post("/simulations", json={"simulation_id": simulation.name}).status_code == 428
    held = http.get(f"/simulations/{simulation.name}/fence").json()
    assert held == {"fence": 200, "is_there": False}
    assert simulation.step(201, content, checkpoint=digest).status_code == 200


def test_the_end_is_remembered_of_one_that_is_not_there(simulation: Simulation) -> None:
    assert simulation.end(200).status_code == 404
    assert simulation.step(199, anew=True).status_code == 412


@pytest.mark.parametrize("fence", ["0", "-1", "x", "1.5", "9" * 30])
def test_a_fence_is_a_whole_number(simulation: Simulation, http: httpx.Client, fence: str) -> None:
    refused = http.delete(f"/simulations/{simulation.name}", headers={"X-UES-Fence": fence})
    assert refused.status_code == 422
    assert "X-UES-Fence" in refused.text


def test_without_a_claim_nothing_needs_a_fence(http: httpx.Client) -> None:
    made = http.post("/simulations", json={}).json()
    headers = {"X-API-Key": made["admin_key"]}
    path = f"/simulations/{made['simulation_id']}"
    assert http.post(f"{path}/simulation/start", headers=headers, json={}).status_code == 200
    assert http.delete(path).status_code == 200


def test_only_the_oldest_fences_of_ended_simulations_are_forgotten() -> None:
    ended = Ended(most=2)
    for simulation_id, fence in (("a", 1), ("b", 2), ("a", 3), ("c", 4), ("c", 1)):
        ended.note(simulation_id, fence)
    assert [ended.find_fence(simulation_id) for simulation_id in "abc"] == [3, 0, 4]
    ended.forget("c")
    assert ended.find_fence("c") == 0
