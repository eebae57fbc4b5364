"""Two callers with tokens, and an admin: who gets what at every route; what is others' is as what there isn't.

The gateway is in this process, over ASGI; Temporal is real, and the stand-in plays.
"""

import asyncio
import json
import re
import uuid
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

import httpx
import pytest
import pytest_asyncio
from starlette.applications import Starlette
from starlette.routing import BaseRoute, Mount, Route
from temporalio.client import Client, WorkflowFailureError

import proctor.service.running
from proctor.a2a_gateway.auth import middleware, quotas
from proctor.a2a_gateway.auth.quotas import Share, compute_share
from proctor.a2a_gateway.auth.tokens import Tokens, make_token
from proctor.a2a_gateway.server import create_app
from proctor.protocol.callers import Caller, Quotas
from proctor.service.page_actions import page_actions
from proctor.service.running import UnderWay
from proctor.settings.config import GreenAgentConfig
from proctor.storage.archive import Archive
from proctor.storage.temporal import connect
from proctor.viewer.actions import ActionRefusedError, ActionRequest
from proctor.viewer.app import routes
from tests.a2a_gateway.callers import message03, text03
from tests.a2a_gateway.conftest import request, standin_worker
from tests.sentences import says
from tests.viewer.entries import write_day
from tests.waiting import PATIENCE, eventually
from tests.work import NIGHTLY

V1 = {"A2A-Version": "1.0"}
WEBHOOK = {"url": "http://localhost:9/hook", "id": "hook"}


_numbers = count()
"""Each test has its own Alice and Bob: what one started the next one's doesn't see."""


@dataclass
class Place:
    """A gateway that asks for tokens, and what there is once it is used: Alice's ended task, and her archived day."""

    config: GreenAgentConfig
    app: Starlette
    tokens: dict[str, str]
    client: Client
    ended: str = ""
    day: str = "alices-day"

    @asynccontextmanager
    async def coming(self, who: str = "", **headers: str) -> AsyncIterator[httpx.AsyncClient]:
        """An HTTP client with the token of somebody."""
        token = {"Authorization": f"Bearer {self.tokens[who]}"} if who else {}
        transport = httpx.ASGITransport(self.app)
        async with httpx.AsyncClient(
            transport=transport, base_url="http://127.0.0.1:1", headers={**token, **headers}, timeout=PATIENCE
        ) as http:
            yield http

    def name_of(self, who: str) -> str:
        tokens = Tokens(Path(self.config.state) / "tokens.json")
        token = tokens.find(self.tokens[who])
        assert token is not None
        return token.name

    async def start(self, who: str, message_id: str | None = None, context: str = "", **script: Any) -> str:
        """Have somebody start an assessment; its task id."""
        message = {
            "messageId": message_id or str(uuid.uuid4()),
            "contextId": context,
            "role": "ROLE_USER",
            "parts": [{"text": json.dumps(request(**script))}],
        }
        body = {"message": message, "configuration": {"returnImmediately": True}}
        async with self.coming(who, **V1) as http:
            answer = await http.post("/message:send", json=body)
        assert answer.status_code == 200, answer.text
        return str(answer.json()["task"]["id"])


def write_tokens(path: Path, number: int) -> dict[str, str]:
    tokens, texts = Tokens(path), {"wrong": "proctor_00000000_" + "A" * 43}
    callers: list[tuple[str, str, dict[str, Any]]] = [
        ("other", "bob", {}),
        ("own", "alice", {}),
        ("admin", "root", {"is_admin": True}),
        ("expired", "alice", {"lasts": timedelta(milliseconds=1)}),
    ]
    for who, name, kind in callers:
        token, texts[who] = make_token(f"{name}{number}", **kind)
        tokens.add(token)
    return texts


@pytest.fixture
def config(temporal: str, tmp_path: Path) -> GreenAgentConfig:
    return GreenAgentConfig(
        host="127.0.0.1",
        port=1,
        temporal_address=temporal,
        state=str(tmp_path),
        task_queue=f"assessments-{tmp_path.name}",
        connect_timeout=60,
    )


@pytest_asyncio.fixture
async def place(config: GreenAgentConfig, client: Client, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Place]:
    monkeypatch.setattr(quotas, "_DECIDED_WITHIN", PATIENCE)
    tokens = write_tokens(Path(config.state) / "tokens.json", next(_numbers))
    connected = partial(connect, config)
    pages = routes(config.archive_url, "http://ui.example", actions=page_actions(config, connected))
    async with standin_worker(client, config):
        yield Place(config, create_app(config, connected, pages), tokens, client)


@pytest_asyncio.fixture
async def used(place: Place) -> Place:
    """The same place; Alice has a task there that has ended, and an archived day."""
    draft = Archive(f"{place.config.state}/draft")
    entry = write_day(draft, place.day, turns=1)
    draft.copy(entry.model_copy(update={"owner": place.name_of("own")}), Archive(place.config.archive_url))
    place.ended = await place.start("own", turns=1)
    await place.client.get_workflow_handle(place.ended).result()
    return place


@dataclass(frozen=True)
class Row:
    """One way to ask: its route, and what a caller whose it is, or an admin, gets.

    ``own``, ``admin``, ``other``: the status; a JSON-RPC error's code stands for the status of its answer. ``other`` is
    None where the answer names no task: it is then the same for everybody who may come in.
    """

    route: str
    path: str
    own: int
    other: int | None = 404
    admin: int | None = None
    body: Any = None
    headers: dict[str, str] = field(default_factory=dict)

    @property
    def method(self) -> str:
        return self.route.partition(" ")[0]

    async def ask(self, http: httpx.AsyncClient, task: str, day: str) -> httpx.Response:
        text = json.dumps(self.body).replace("TASK", task)
        content = None if self.body is None else text
        path = self.path.replace("TASK", task).replace("DAY", day)
        headers = {"Content-Type": "application/json", **self.headers}
        return await http.request(self.method, path, content=content, headers=headers)


def rpc(
    method: str, params: dict[str, Any], own: int, other: int | None = -32001, headers: dict[str, str] | None = None
) -> Row:
    body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    return Row("POST /", "/", own, other, body=body, headers=headers or {})


MESSAGE = {"messageId": "again", "taskId": "TASK", "role": "ROLE_USER", "parts": [{"text": "{}"}]}
MESSAGE_03 = {"request": {**MESSAGE, "content": [{"text": "{}"}]}}
del MESSAGE_03["request"]["parts"]


def rest(prefix: str, path: str) -> list[Row]:
    """HTTP+JSON 1.0, at its own paths and at those of a tenant."""

    def row(method: str, tail: str, own: int, other: int | None = 404, body: Any = None) -> Row:
        route = f"{method} {prefix}{tail}".replace("TASK", "{id}").replace("/hook", "/{push_id}")
        return Row(route, path + tail, own, other, body=body, headers=V1)

    hooks = "/tasks/TASK/pushNotificationConfigs"
    return [
        row("POST", "/message:send", 400, body={"message": MESSAGE}),
        row("POST", "/message:stream", 400, body={"message": MESSAGE}),
        row("POST", "/tasks/TASK:cancel", 400),
        row("GET", "/tasks/TASK:subscribe", 400),
        row("POST", "/tasks/TASK:subscribe", 400),
        row("GET", "/tasks/TASK", 200),
        row("POST", hooks, 200, body=WEBHOOK),
        row("GET", hooks, 200),
        Row(f"GET {prefix}/tasks/{{id}}/pushNotificationConfigs/{{push_id}}", f"{path}{hooks}/hook", 200, headers=V1),
        Row(
            f"DELETE {prefix}/tasks/{{id}}/pushNotificationConfigs/{{push_id}}", f"{path}{hooks}/hook", 200, headers=V1
        ),
        row("GET", "/tasks", 200, other=None),
        row("GET", "/extendedAgentCard", 400, other=None),
    ]


HOOK_03: dict[str, Any] = {"parent": "tasks/TASK", "config": {"name": "tasks/TASK/pushNotificationConfigs/hook"}}
HOOK_03["config"]["pushNotificationConfig"] = WEBHOOK
V1_HOOKS = "/v1/tasks/TASK/pushNotificationConfigs"
TABLE = [
    *rest("", ""),
    *rest("/{tenant}", "/desk"),
    rpc("SendMessage", {"message": MESSAGE}, -32004, headers=V1),
    rpc("SendStreamingMessage", {"message": MESSAGE}, -32004, headers=V1),
    rpc("GetTask", {"id": "TASK"}, 200, headers=V1),
    rpc("ListTasks", {}, 200, None, headers=V1),
    rpc("CancelTask", {"id": "TASK"}, -32002, headers=V1),
    rpc("SubscribeToTask", {"id": "TASK"}, -32004, headers=V1),
    rpc("CreateTaskPushNotificationConfig", {"taskId": "TASK", **WEBHOOK}, 200, headers=V1),
    rpc("GetTaskPushNotificationConfig", {"taskId": "TASK", "id": "hook"}, 200, headers=V1),
    rpc("ListTaskPushNotificationConfigs", {"taskId": "TASK"}, 200, headers=V1),
    rpc("DeleteTaskPushNotificationConfig", {"taskId": "TASK", "id": "hook"}, 200, headers=V1),
    rpc("GetExtendedAgentCard", {}, -32004, None, headers=V1),
    rpc("message/send", message03(text03("{}"), taskId="TASK"), -32004),
    rpc("message/stream", message03(text03("{}"), taskId="TASK"), -32004),
    rpc("tasks/get", {"id": "TASK"}, 200),
    rpc("tasks/cancel", {"id": "TASK"}, -32002),
    rpc("tasks/resubscribe", {"id": "TASK"}, -32004),
    rpc("tasks/pushNotificationConfig/set", {"taskId": "TASK", "pushNotificationConfig": WEBHOOK}, 200),
    rpc("tasks/pushNotificationConfig/get", {"id": "TASK", "pushNotificationConfigId": "hook"}, 200),
    rpc("tasks/pushNotificationConfig/list", {"id": "TASK"}, 200),
    rpc("tasks/pushNotificationConfig/delete", {"id": "TASK", "pushNotificationConfigId": "hook"}, 200),
    rpc("agent/getAuthenticatedExtendedCard", {}, -32004, None),
    Row("POST /v1/message:send", "/v1/message:send", 400, body=MESSAGE_03),
    Row("POST /v1/message:stream", "/v1/message:stream", 400, body=MESSAGE_03),
    Row("POST /v1/tasks/{id}:cancel", "/v1/tasks/TASK:cancel", 400),
    Row("GET /v1/tasks/{id}:subscribe", "/v1/tasks/TASK:subscribe", 400),
    Row("POST /v1/tasks/{id}:subscribe", "/v1/tasks/TASK:subscribe", 400),
    Row("GET /v1/tasks/{id}", "/v1/tasks/TASK", 200),
    Row("POST /v1/tasks/{id}/pushNotificationConfigs", V1_HOOKS, 200, body=HOOK_03),
    Row(f"GET {V1_HOOKS}".replace("TASK", "{id}"), V1_HOOKS, 200),
    Row(f"GET {V1_HOOKS}/{{push_id}}".replace("TASK", "{id}"), f"{V1_HOOKS}/hook", 200),
    Row(f"DELETE {V1_HOOKS}/{{push_id}}".replace("TASK", "{id}"), f"{V1_HOOKS}/hook", 200),
    Row("GET /v1/card", "/v1/card", 400, None),
    Row("POST /agent/messages", "/agent/messages", 422, None, body={"message": {"parts": [{"text": "no request"}]}}),
    Row("GET /runs/{task_id}/files/{sha256}", f"/runs/TASK/files/{'0' * 64}", 404),
    Row("GET /metrics", "/metrics", 403, 403, admin=200),
    Row("GET /temporal", "/temporal", 403, 403, admin=200),
    Row("GET /", "/", 200, None),
    Row("GET /view", "/view", 307, None),
    Row("GET /view/{id}", "/view/DAY", 200),
    Row("GET /view/{id}/assessment.html", "/view/DAY/assessment.html", 200),
    Row("GET /compare", "/compare?a=DAY&b=DAY", 200),
    Row("GET /viewer.js", "/viewer.js", 200, None),
    Row("GET /asciinema-player.min.js", "/asciinema-player.min.js", 200, None),
    Row("GET /asciinema-player.css", "/asciinema-player.css", 200, None),
    Row("GET /view/{id}/recording.cast", "/view/DAY/recording.cast", 404),
    Row("GET /view/{id}/files/{sha256}", "/view/DAY/files/" + 64 * "a", 404),
    Row("GET /view/{id}/texts/{name}", "/view/DAY/texts/none", 404),
    Row("GET /view/{id}/do/{action}", "/view/DAY/do/judge-again", 200),
    Row("POST /view/{id}/do/{action}", "/view/DAY/do/judge-again", 403),
    Row("POST /view/{id}/do/{action}", "/view/DAY/do/replay?turn=1", 403),
]
PUBLIC = {
    "GET /health": 200,
    "GET /ready": 200,
    "GET /.well-known/agent-card.json": 200,
    "GET /.well-known/agent.json": 200,
    "GET /login": 200,
    "POST /login": 401,
    "POST /logout": 303,
    "GET /viewer.css": 200,
}
"""What is there for everybody, with the status of an empty request."""

STRANGERS = ("", "wrong", "expired")


def names_of(tree: Iterable[BaseRoute], prefix: str = "") -> Iterator[str]:
    for route in tree:
        if isinstance(route, Mount):
            yield from names_of(route.routes, prefix + route.path)
        elif isinstance(route, Route):
            yield from (f"{method} {prefix}{route.path}" for method in route.methods or () if method != "HEAD")


def status(answer: httpx.Response) -> int:
    """The HTTP status; of a JSON-RPC answer, a stream's event included, the error's code where there is one."""
    if answer.status_code == 200 and '"jsonrpc"' in answer.text:
        told = json.loads(answer.text.rpartition("data: ")[2])
        return int(told["error"]["code"]) if "error" in told else 200
    return answer.status_code


async def test_every_route_gives_each_caller_what_is_theirs(used: Place) -> None:
    await asyncio.sleep(0.01)  # the expired token's whole life
    assert {row.route for row in TABLE} | set(PUBLIC) == set(names_of(used.app.routes))
    wrong = []
    for number, row in enumerate(TABLE):
        expected = {**dict.fromkeys(STRANGERS, 401), "own": row.own, "admin": row.admin or row.own}
        expected["other"] = row.own if row.other is None else row.other
        strangers = STRANGERS if NIGHTLY else STRANGERS[number % len(STRANGERS) :][:1]  # all of them, one a route
        admins = ("admin",) if NIGHTLY or row.admin or number % 3 == 0 else ()
        for who in (*strangers, "other", "own", *admins):
            async with used.coming(who) as http:
                answer = await row.ask(http, used.ended, used.day)
                if status(answer) != expected[who]:
                    wrong.append(f"{row.route} {row.body} {who or 'nobody'}: {answer.text}")
                elif who == "other" and row.other == expected[who] != 403:
                    nothing, nowhere = str(uuid.uuid4()), "no-such-day"
                    unknown = await row.ask(http, nothing, nowhere)
                    assert status(unknown) == status(answer)
                    said = unknown.text.replace(nothing, used.ended).replace(nowhere, used.day)
                    assert without_noise(said) == without_noise(answer.text), row
    assert not wrong, "\n".join(wrong)


def without_noise(text: str) -> str:
    """An answer without what differs each time."""
    return re.sub(r'"(timestamp|traceId)": ?"[^"]*"', "", text)


async def is_well(http: httpx.AsyncClient, path: str) -> bool:
    answer = await http.get(path)
    return (answer.status_code, answer.json()) == (200, {"status": "ok"})


async def test_what_is_public_is_there_for_strangers(place: Place) -> None:
    for route, expected in PUBLIC.items():
        method, _, path = route.partition(" ")
        for who in ("", "wrong", "own"):
            async with place.coming(who) as http:
                if path in ("/health", "/ready"):  # once the worker has asked for work
                    await eventually(partial(is_well, http, path))
                else:
                    assert (await http.request(method, path)).status_code == expected, route
    async with place.coming() as http:
        card = (await http.get("/.well-known/agent-card.json")).json()
    assert card["securitySchemes"]["bearer"]["httpAuthSecurityScheme"]["scheme"] == "Bearer"
    assert card["securityRequirements"] == [{"schemes": {"bearer": {}}}]


async def test_each_lists_their_own(used: Place) -> None:
    bobs = await used.start("other", turns=1)

    async def listed(who: str, **query: str) -> set[str]:
        async with used.coming(who, **V1) as http:
            return {task["id"] for task in (await http.get("/tasks", params=query)).json()["tasks"]}

    async def caught_up() -> bool:
        return {bobs, used.ended} <= await listed("admin")

    await eventually(caught_up)
    assert await listed("own") == {used.ended}
    assert await listed("other") == {bobs}


async def test_what_runs_of_ones_own_is_seen_however_much_runs_of_others(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(proctor.service.running, "_SHOWN_AT_MOST", 1)
    mine, live = await place.start("own", hold=True), UnderWay(place.config)
    await place.start("other", hold=True)
    caller = Caller(name=place.name_of("own"))

    async def is_seen() -> bool:
        return [assessment.id for assessment in await live.running(caller)] == [mine]

    await eventually(is_seen)


async def test_nobody_cancels_or_joins_anothers(place: Place) -> None:
    held, message_id = await place.start("own", hold=True), str(uuid.uuid4())
    async with place.coming("other", **V1) as http:
        assert (await http.post(f"/tasks/{held}:cancel")).status_code == 404
    mine = await place.start("own", message_id, "desk", turns=1)
    assert await place.start("own", message_id, "desk", turns=1) == mine
    assert await place.start("other", message_id, "desk", turns=1) != mine
    async with place.coming("admin", **V1) as http:
        assert (await http.post(f"/tasks/{held}:cancel")).json()["status"]["state"] == "TASK_STATE_CANCELED"


async def test_a_task_that_only_the_archive_knows_is_its_callers_alone(used: Place) -> None:
    answers = {}
    for who in ("own", "admin", "other"):
        async with used.coming(who, **V1) as http:
            read, follow = await http.get(f"/tasks/{used.day}"), await http.get(f"/tasks/{used.day}:subscribe")
            answers[who] = (read.status_code, follow.status_code)
    assert answers == {"own": (200, 400), "admin": (200, 400), "other": (404, 404)}


async def test_what_runs_has_a_page_for_its_caller_alone(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("proctor.viewer.app._LIVE_SECONDS", PATIENCE)
    mine, connected = await place.start("own", hold=True), partial(connect, place.config)
    place.app = create_app(place.config, connected, routes(place.config.archive_url, live=UnderWay(place.config)))
    seen = {}
    for who in ("own", "admin", "other"):
        async with place.coming(who) as http:
            seen[who] = (await http.get(f"/view/{mine}")).status_code
    assert seen == {"own": 200, "admin": 200, "other": 404}


async def test_files_of_a_run_are_its_callers_alone_after_they_were_found(used: Place) -> None:
    path, unknown = f"/runs/{used.ended}/files/{'0' * 64}", f"/runs/nothing/files/{'0' * 64}"
    async with used.coming("own") as http:
        assert says().within((await http.get(path)).text)
    async with used.coming("other") as http:
        assert (await http.get(path)).text == (await http.get(unknown)).text.replace("nothing", used.ended)


@pytest.mark.parametrize("setting", ["grows", "fork_of"])
async def test_nothing_builds_on_anothers(used: Place, setting: str) -> None:
    answers = {}
    for task_id in (used.ended, used.day, str(uuid.uuid4())):
        config = {"scenario_id": "email_triage_basic", setting: task_id, "from_turn": 1}
        body = {"participants": {"a": "http://participant"}, "config": config}
        message = {"messageId": "m", "role": "ROLE_USER", "parts": [{"text": json.dumps(body)}]}
        for who in ("own", "other"):
            async with used.coming(who, **V1) as http:
                sent = {"message": message, "configuration": {"returnImmediately": True}}
                answer = await http.post("/message:send", json=sent)
            answers[who, task_id] = (answer.status_code, answer.text.replace(task_id, "TASK"))
    ended, day, nothing = used.ended, used.day, task_id
    assert answers["other", ended] == answers["other", day] == answers["other", nothing] == answers["own", nothing]
    assert answers["other", ended][0] == 400
    assert answers["own", ended][0] == answers["own", day][0] == 200


async def asked(place: Place, token: str, text: str, message_id: str = "m") -> httpx.Response:
    """Ask for something at once, by a token."""
    message = {"messageId": message_id, "role": "ROLE_USER", "parts": [{"text": text}]}
    body = {"message": message, "configuration": {"returnImmediately": True}}
    async with place.coming(**V1, Authorization=f"Bearer {token}") as http:
        return await http.post("/message:send", json=body)


async def test_quotas_hold_for_what_is_asked_for_at_once(place: Place) -> None:
    kept = Tokens(Path(place.config.state) / "tokens.json")
    token, text = make_token(f"carol{next(_numbers)}", quotas=Quotas(at_once=2, per_day=3))
    kept.add(token)
    held, message_id = json.dumps(request(hold=True)), str(uuid.uuid4())
    answers = await asyncio.gather(*(asked(place, text, held, message_id if n == 0 else "m") for n in range(5)))
    let_in = [answer for answer in answers if answer.status_code == 200]
    assert len(let_in) == 2
    (refusal,) = {answer.json()["error"]["message"] for answer in answers if answer.status_code != 200}
    assert refusal == says()
    if answers[0].status_code == 200:  # the same message again joins what it started, whatever the quota
        again = await asked(place, text, held, message_id)
        assert again.json()["task"]["id"] == answers[0].json()["task"]["id"]
    for answer in let_in:
        await place.client.get_workflow_handle(answer.json()["task"]["id"]).terminate()

    async def is_let_in() -> bool:
        return (await asked(place, text, json.dumps(request(turns=0)))).status_code == 200

    await eventually(is_let_in)
    spent = await asked(place, text, json.dumps(request(turns=0)))
    assert says("24").within(spent.text)
    campaign = {"participants": {"a": "http://p"}, "config": {"scenarios": ["s"], "repeats": 9, "at_once": 1}}
    assert says().within((await asked(place, text, json.dumps(campaign))).text)


async def test_two_gateways_let_in_no_more_than_one_would(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each is asked for more than the quota in the same instant, and neither knows what the other one is asked.

    Both take their time between the count and the start: long enough for the other one to count the same.
    """
    decide = quotas.Allowance._decide

    async def decide_slowly(*given: Any) -> None:
        await decide(*given)
        await asyncio.sleep(0.2)

    monkeypatch.setattr(quotas.Allowance, "_decide", decide_slowly)
    pages = routes(place.config.archive_url, "http://ui.example")
    other = replace(place, app=create_app(place.config, partial(connect, place.config), pages))
    token, text = make_token(f"erin{next(_numbers)}", quotas=Quotas(at_once=3))
    Tokens(Path(place.config.state) / "tokens.json").add(token)
    held = json.dumps(request(hold=True))
    answers = await asyncio.gather(*(asked(gateway, text, held) for gateway in (place, other) for _ in range(4)))
    assert sum(answer.status_code == 200 for answer in answers) == 3
    (refusal,) = {answer.json()["error"]["message"] for answer in answers if answer.status_code != 200}
    assert refusal == says()


async def test_a_start_that_is_not_listed_yet_counts_until_its_ticket_expires(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A gateway that died left a ticket, and started nothing."""
    token, text = make_token(f"frank{next(_numbers)}", quotas=Quotas(at_once=1))
    Tokens(Path(place.config.state) / "tokens.json").add(token)
    await quotas._Ledger(place.client, token.name).enter(quotas.Ticket("lost", "never-started", Share()))
    with monkeypatch.context() as patched:
        patched.setattr(quotas, "_DECIDED_WITHIN", 0.3)
        refused = await asked(place, text, json.dumps(request(turns=0)))
    assert says().within(refused.text)
    monkeypatch.setattr(quotas, "_EXPIRES", timedelta(seconds=0.2))
    await asyncio.sleep(0.2)
    assert (await asked(place, text, json.dumps(request(turns=0)))).status_code == 200


async def test_tickets_of_a_ledger_that_has_just_ended_count(place: Place) -> None:
    owner = f"gil{next(_numbers)}"
    tickets = [quotas.Ticket(f"ticket-{number}", f"task-{number}", Share(number)) for number in range(4)]
    ledgers = [quotas._Ledger(place.client, owner) for _ in tickets]
    await ledgers[0].enter(tickets[0])
    await ledgers[1].enter(tickets[1])
    await place.client.get_workflow_handle(f"quota.{owner}").terminate()
    await ledgers[2].enter(tickets[2])
    await ledgers[3].enter(tickets[3])
    assert await ledgers[1].before(tickets[1]) == [tickets[0]]

    async def is_listed() -> bool:
        return await ledgers[3].before(tickets[3]) == [tickets[2], *tickets[:2]]

    await eventually(is_listed)
    await ledgers[1].withdraw(tickets[1])
    assert await ledgers[2].before(tickets[2]) == [tickets[0]]


RUN = {"scenarios": ["s", "t"], "seeds": [1, 2, 3]}
FORKS = {"fork_of": "x", "repeats": 5}
TRIALS = {"benchmark": "terminal-bench", "dataset": "d", "n_attempts": 3}


@pytest.mark.parametrize(
    ("agents", "config", "expected"),
    [
        (1, {"scenario_id": "s"}, Share(1, 1)),
        (2, RUN, Share(4, 12)),
        (1, {**RUN, "repeats": 10, "num_shards": 7}, Share(4, 9)),
        (1, {**RUN, "repeats": -1}, Share(1, 1)),  # it is going to be rejected
        (0, {**FORKS, "from_turns": [1, 2, 3]}, Share(4, 15)),
        (2, {**FORKS, "from_turn": 2, "repeats": 1}, Share(2, 2)),
        (0, {**FORKS, "from_turns": "every", "max_turns": 9}, Share(4, 45)),
        (0, {**FORKS, "from_turns": "every"}, Share(4, None)),
        (1, TRIALS, Share(4, None)),
        (1, {**TRIALS, "task_ids": ["a", "b-*"]}, Share(4, None)),
        (1, {**TRIALS, "task_ids": ["a", "b-*"], "n_tasks": 5}, Share(4, 15)),
        (1, {**TRIALS, "task_ids": ["a", "b"], "n_tasks": 5, "n_concurrent_trials": 9}, Share(6, 6)),
    ],
)
def test_a_request_takes_as_much_as_it_may_play(agents: int, config: dict[str, Any], expected: Share) -> None:
    asked_for = {"participants": {f"agent-{number}": "http://p" for number in range(agents)}, "config": config}
    assert compute_share(asked_for) == compute_share(json.dumps(asked_for)) == expected


async def test_a_campaign_takes_its_whole_share_when_it_begins(place: Place) -> None:
    """No worker of this place plays campaigns: none of their assessments has begun when the next thing is asked for."""
    kept = Tokens(Path(place.config.state) / "tokens.json")
    token, text = make_token(f"grace{next(_numbers)}", quotas=Quotas(at_once=2, per_day=6))
    kept.add(token)
    campaign = {"participants": {"a": "http://p"}, "config": {"scenarios": ["s"], "repeats": 4, "at_once": 2}}
    first = await asked(place, text, json.dumps(campaign))
    assert first.status_code == 200
    refused = await asked(place, text, json.dumps(request(turns=0)))
    assert says().within(refused.text)
    token = token.model_copy(update={"quotas": Quotas(per_day=6)})
    kept.remove(lambda each: each.id == token.id)
    kept.add(token)
    refused = await asked(place, text, json.dumps(campaign))
    assert says("24").within(refused.text)
    campaign["config"] = {**TRIALS, "n_attempts": 1}
    refused = await asked(place, text, json.dumps(campaign))
    assert says().within(refused.text)
    await place.client.get_workflow_handle(first.json()["task"]["id"]).terminate()

    async def is_given_back() -> bool:
        return (await asked(place, text, json.dumps(request(turns=0)))).status_code == 200

    await eventually(is_given_back)


async def test_what_is_rejected_takes_nothing_of_a_quota(place: Place) -> None:
    token, text = make_token(f"heidi{next(_numbers)}", quotas=Quotas(per_day=1))
    Tokens(Path(place.config.state) / "tokens.json").add(token)
    for _ in range(2):
        rejected = await asked(place, text, "no request")
        assert rejected.status_code == 200
        with pytest.raises(WorkflowFailureError):
            await place.client.get_workflow_handle(rejected.json()["task"]["id"]).result()

    async def is_let_in() -> bool:
        return (await asked(place, text, json.dumps(request(turns=0)))).status_code == 200

    await eventually(is_let_in)
    assert says().within((await asked(place, text, json.dumps(request(turns=0)))).text)


@pytest.mark.parametrize("name", ["replay", "judge-again"])
async def test_a_replay_from_a_page_is_within_its_callers_quotas(used: Place, name: str) -> None:
    owner = used.name_of("own")
    await used.start("own", hold=True)
    action = page_actions(used.config, partial(connect, used.config)).find(name)
    entry = Archive(used.config.archive_url).get(used.day)
    assert action is not None
    assert entry is not None
    entry = entry.model_copy(update={"id": used.ended})

    async def refusal(caller: Caller) -> str:
        with pytest.raises(ActionRefusedError) as refused:
            await action.do(ActionRequest(entry, 1, {}, caller))
        return str(refused.value)

    async def is_counted() -> bool:  # who has no quota isn't kept waiting for Temporal's list
        told = await refusal(Caller(name=owner, quotas=Quotas(at_once=1)))
        return "quota" in told

    await eventually(is_counted)
    for caller in (
        Caller(name=owner, quotas=Quotas(at_once=2)),
        Caller(name="root", is_admin=True, quotas=Quotas(at_once=1)),
    ):
        assert says().within(await refusal(caller))


async def test_who_has_spent_what_they_may_waits_for_another_day(place: Place) -> None:
    kept, archive = Tokens(Path(place.config.state) / "tokens.json"), Archive(place.config.archive_url)
    token, text = make_token(f"dave{next(_numbers)}", quotas=Quotas(cost_per_day=1.0))
    kept.add(token)
    for name, cost, age in (("late", 0.6, 0), ("early", 9.0, 2)):
        entry = write_day(Archive(f"{place.config.state}/draft"), name, turns=1)
        at = datetime.now(UTC) - timedelta(days=age)
        changed = {"owner": token.name, "cost": cost, "ended_at": at}
        Archive(f"{place.config.state}/draft").copy(entry.model_copy(update=changed), archive)
        assert (await asked(place, text, json.dumps(request(turns=0)))).status_code == 200
    entry = write_day(Archive(f"{place.config.state}/draft"), "later", turns=1)
    changed = {"owner": token.name, "cost": 0.5, "ended_at": datetime.now(UTC)}
    Archive(f"{place.config.state}/draft").copy(entry.model_copy(update=changed), archive)
    refused = await asked(place, text, json.dumps(request(turns=0)))
    assert says("24", "1.1").within(refused.text)


async def test_a_revoked_token_lets_nobody_in_from_then_on(used: Place) -> None:
    tokens = Tokens(Path(used.config.state) / "tokens.json")
    async with used.coming("own", **V1) as http:
        assert (await http.get(f"/tasks/{used.ended}")).status_code == 200
        tokens.remove(lambda token: token.name == used.name_of("own"))
        refused = await http.get(f"/tasks/{used.ended}")
    assert refused.status_code == 401
    assert refused.headers["www-authenticate"].startswith("Bearer")
    assert "revoked" in refused.json()["error"]["message"]
    tokens.path.unlink()
    async with used.coming("admin") as http:  # and a file that has gone opens no door
        assert (await http.get("/temporal")).status_code == 503


@pytest.mark.parametrize("path", ["/message:stream", "/message:send"])
async def test_who_is_known_no_more_hears_no_more(place: Place, monkeypatch: pytest.MonkeyPatch, path: str) -> None:
    """A stream ends, and who waits for a result waits no longer; the assessment goes on."""
    monkeypatch.setattr(middleware, "_LOOKED_AGAIN_EVERY", 0.1)
    name, context = place.name_of("own"), str(uuid.uuid4())
    parts = [{"text": json.dumps(request(hold=True))}]
    body = {"message": {"messageId": "m", "contextId": context, "role": "ROLE_USER", "parts": parts}}
    async with place.coming("own", **V1) as http, place.coming("admin", **V1) as admin:
        waiting = asyncio.create_task(http.post(path, json=body))

        async def begun() -> list[Any]:
            tasks: list[Any] = (await admin.get("/tasks", params={"contextId": context})).json()["tasks"]
            return tasks

        await eventually(begun)
        assert not waiting.done()
        Tokens(Path(place.config.state) / "tokens.json").remove(lambda token: token.name == name)
        ended = await asyncio.wait_for(waiting, PATIENCE)
        assert ended.status_code == 401 or (path, ended.status_code) == ("/message:stream", 200)
        (task,) = await begun()
    assert task["status"]["state"] in ("TASK_STATE_SUBMITTED", "TASK_STATE_WORKING")
