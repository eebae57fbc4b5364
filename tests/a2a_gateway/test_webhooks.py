"""Push notifications: what a webhook gets, in order and whatever dies; who may be one; and that none does harm."""

import asyncio
import json
import re
import socket
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from types import SimpleNamespace
from typing import Any

import pytest
import pytest_asyncio
from a2a.client import Client as Caller
from a2a.types import (
    AuthenticationInfo,
    DeleteTaskPushNotificationConfigRequest,
    GetTaskPushNotificationConfigRequest,
    GetTaskRequest,
    ListTaskPushNotificationConfigsRequest,
    SendMessageRequest,
    TaskPushNotificationConfig,
)
from a2a.utils.errors import InvalidParamsError, TaskNotFoundError, UnsupportedOperationError
from google.protobuf.json_format import MessageToDict
from temporalio.client import Client, WorkflowFailureError
from temporalio.worker import Worker

from proctor.a2a_gateway.task_events import TaskEvents
from proctor.a2a_gateway.webhooks import MOST
from proctor.activities.attempts.heartbeats import Heartbeats
from proctor.activities.notifications.activities import STANDSTILL, NotificationActivities, NotificationSource
from proctor.activities.notifications.plan import Notification
from proctor.settings.config import GreenAgentConfig
from proctor.workflows.names import NOTIFICATIONS_QUEUE
from proctor.workflows.notifications import Notifications
from purple_sdk.protocol.results import AssessmentResults
from tests.a2a_gateway.callers import (
    REST,
    at_once,
    call03,
    collect,
    data_part,
    message,
    message03,
    sdk_client,
    send,
    state_name,
    text03,
)
from tests.a2a_gateway.conftest import Gateway, request, running_gateway, standin_worker
from tests.a2a_gateway.receivers import Receiver, receiving
from tests.sentences import says
from tests.waiting import eventually
from tests.work import some_of

STORY = ["task", *map(str, range(6)), "artifact", "completed"]


@asynccontextmanager
async def notifying(
    client: Client, config: GreenAgentConfig, source: NotificationSource | None = None
) -> AsyncIterator[None]:
    """A worker for webhooks, as ``proctor worker`` has it beside the one for assessments."""
    async with AsyncExitStack() as stack:
        source, beats = source or TaskEvents.from_client(config, client).notifications, Heartbeats()
        deliveries = Worker(
            client,
            debug_mode=True,  # a busy machine is no deadlock
            task_queue=config.task_queue + NOTIFICATIONS_QUEUE,
            activities=[NotificationActivities(config, source).notify],
            interceptors=[beats],
        )
        beats.beat_through(deliveries)
        await stack.enter_async_context(deliveries)
        await stack.enter_async_context(standin_worker(client, config, Notifications))
        yield


@pytest_asyncio.fixture
async def notifications(client: Client, config: GreenAgentConfig) -> AsyncIterator[None]:
    async with notifying(client, config):
        yield


@pytest_asyncio.fixture
async def receiver() -> AsyncIterator[Receiver]:
    async with receiving() as listening:
        yield listening


def with_webhook(asked: SendMessageRequest, url: str, **more: Any) -> SendMessageRequest:
    asked.configuration.task_push_notification_config.CopyFrom(TaskPushNotificationConfig(url=url, **more))
    return asked


async def listed(caller: Caller, task_id: str) -> list[TaskPushNotificationConfig]:
    return list(
        (
            await caller.list_task_push_notification_configs(ListTaskPushNotificationConfigsRequest(task_id=task_id))
        ).configs
    )


@pytest.mark.usefixtures("notifications")
@pytest.mark.parametrize("binding", some_of(["JSONRPC", REST], 1))
async def test_a_webhook_hears_what_a_stream_tells(gateway: Gateway, receiver: Receiver, binding: Any) -> None:
    secrets: dict[str, Any] = {
        "token": "T0ken",
        "authentication": AuthenticationInfo(scheme="Bearer", credentials="s3cret"),
    }
    async with sdk_client(gateway.url, binding) as caller:
        card = (await gateway.http.get("/.well-known/agent-card.json")).json()
        assert card["capabilities"]["pushNotifications"] is True
        told = await collect(caller.send_message(with_webhook(message(data_part(request())), receiver.url, **secrets)))
        await eventually(lambda: receiver.has_heard_the_end, 60)
    assert receiver.sequences() == STORY
    assert receiver.taken[1:] == [MessageToDict(event) for event in told[1:]]
    for headers in receiver.headers:
        assert (headers["x-a2a-notification-token"], headers["authorization"]) == ("T0ken", "Bearer s3cret")
        assert headers["content-type"] == "application/json"


@pytest.mark.usefixtures("notifications")
async def test_a_webhook_that_comes_later_misses_nothing(gateway: Gateway, receiver: Receiver, client: Client) -> None:
    async with sdk_client(gateway.url, streaming=False) as caller:
        task = await send(caller, at_once(message(data_part(request(pauses=[2])))))
        made = await caller.create_task_push_notification_config(
            TaskPushNotificationConfig(task_id=task.id, id="mine", url=receiver.url)
        )
        assert (made.id, made.task_id, made.url) == ("mine", task.id, receiver.url)
        await eventually(lambda: len(receiver.taken) == 6, 60)
        await client.get_workflow_handle(task.id).signal("go_on")
        await eventually(lambda: receiver.has_heard_the_end, 60)
        async with receiving() as late:
            await caller.create_task_push_notification_config(TaskPushNotificationConfig(task_id=task.id, url=late.url))
            await eventually(lambda: late.has_heard_the_end, 60)
    assert receiver.sequences() == late.sequences() == STORY


@pytest.mark.usefixtures("notifications")
async def test_03_callers_get_tasks(gateway: Gateway, receiver: Receiver) -> None:
    params = message03(text03(request(pauses=[2])))
    wanted = {"url": receiver.url, "token": "T"}
    params["configuration"] = {"blocking": False, "pushNotificationConfig": wanted}
    task_id = (await call03(gateway.http, "message/send", params))["result"]["id"]
    more = {"taskId": task_id, "pushNotificationConfig": {"id": "more", "url": "http://127.0.0.1:9/"}}
    made = await call03(gateway.http, "tasks/pushNotificationConfig/set", more)
    assert made["result"]["pushNotificationConfig"]["id"] == "more"
    found = (await call03(gateway.http, "tasks/pushNotificationConfig/list", {"id": task_id}))["result"]
    assert {hook["pushNotificationConfig"]["id"] for hook in found} == {task_id, "more"}
    away = {"id": task_id, "pushNotificationConfigId": "more"}
    assert "error" not in await call03(gateway.http, "tasks/pushNotificationConfig/delete", away)
    got = (await call03(gateway.http, "tasks/pushNotificationConfig/get", {"id": task_id}))["result"]
    assert got["pushNotificationConfig"]["url"] == receiver.url
    await eventually(lambda: "5" in receiver.sequences() or len(receiver.taken) >= 6, 60)
    await call03(gateway.http, "tasks/cancel", {"id": task_id})
    await eventually(lambda: receiver.has_heard_the_end, 60)
    first, last = receiver.taken[0], receiver.taken[-1]
    assert {body["kind"] for body in receiver.taken} == {"task"}
    assert (first["id"], first["status"]["state"], last["status"]["state"]) == (task_id, "submitted", "canceled")
    assert receiver.headers[0]["x-a2a-notification-token"] == "T"


@pytest.mark.usefixtures("notifications")
async def test_what_is_not_taken_is_sent_again_in_order_and_holds_up_nothing(gateway: Gateway, client: Client) -> None:
    def refuses_often(number: int) -> int:
        return (500, 200, 302, 404, 200)[number % 5] if number < 5 else 200

    async with receiving(refuses_often) as receiver, sdk_client(gateway.url, streaming=False) as caller:
        task = await send(caller, with_webhook(message(data_part(request())), receiver.url))
        assert state_name(task.status.state) == "completed"
        await eventually(lambda: receiver.has_heard_the_end, 90)
        assert receiver.sequences() == STORY
        assert len(receiver.answers) > len(STORY)


async def test_a_webhook_hears_all_whatever_dies(client: Client, config: GreenAgentConfig, receiver: Receiver) -> None:
    """The gateway is gone after the request; the worker after half of the story, once more while nobody answers."""
    async with running_gateway(config) as gateway, sdk_client(gateway.url, streaming=False) as caller:
        asked = with_webhook(at_once(message(data_part(request(turns=3, pauses=[1, 2])))), receiver.url)
        task = await send(caller, asked)
    async with notifying(client, config):
        await eventually(lambda: len(receiver.taken) == 4, 60)
        receiver.answer = lambda _: 503
        await client.get_workflow_handle(task.id).signal("go_on")
        await eventually(lambda: 503 in receiver.answers, 60)
    receiver.answer = lambda _: 200
    async with notifying(client, config):
        await eventually(lambda: len(receiver.taken) == 6, 60)
        await client.get_workflow_handle(task.id).signal("go_on")
        await eventually(lambda: receiver.has_heard_the_end, 60)
    assert receiver.sequences() == ["task", *map(str, range(8)), "artifact", "completed"]
    (exact,) = [part["raw"] for part in receiver.taken[-2]["artifactUpdate"]["artifact"]["parts"] if "raw" in part]
    assert exact
    assert AssessmentResults.model_validate(
        receiver.taken[-2]["artifactUpdate"]["artifact"]["parts"][1]["data"], strict=False
    )


async def test_a_worker_that_was_frozen_says_nothing_old(
    gateway: Gateway, client: Client, config: GreenAgentConfig, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another one may have gone on meanwhile: what it would say next is left to the next attempt."""
    now, tellings = 0.0, list[int]()
    monkeypatch.setattr("proctor.activities.notifications.activities.time", SimpleNamespace(monotonic=lambda: now))

    async def story(_task_id: str, _protocol: str) -> AsyncGenerator[Notification]:
        nonlocal now
        tellings.append(len(receiver.taken))
        for number in range(4):
            if number == 2 and len(tellings) == 1:
                now += 2 * STANDSTILL  # as between SIGSTOP and SIGCONT
            yield Notification(number, {"task": number})

    async with notifying(client, config, story), sdk_client(gateway.url, streaming=False) as caller:
        await send(caller, with_webhook(message(data_part(request())), receiver.url))
        await eventually(lambda: len(receiver.taken) == 4, 60)
    assert [body["task"] for body in receiver.taken] == [0, 1, 2, 3]
    assert tellings == [0, 2]


@pytest.mark.usefixtures("notifications")
async def test_a_webhook_that_is_gone_is_given_up(gateway: Gateway, client: Client) -> None:
    async with receiving(lambda _: 410) as receiver, sdk_client(gateway.url, streaming=False) as caller:
        task = await send(caller, with_webhook(message(data_part(request())), receiver.url, id="w"))
        assert state_name(task.status.state) == "completed"
        (place,) = [
            workflow.id async for workflow in client.list_workflows(f"WorkflowId = '{await place_of(client, task.id)}'")
        ]
        with pytest.raises(WorkflowFailureError) as failure:
            await client.get_workflow_handle(place).result()
        sentence = str(failure.value.cause.__cause__)
        assert says("410").within(sentence)
        assert "has to say" not in sentence
        assert receiver.answers == [410]


async def place_of(client: Client, task_id: str) -> str:
    """The workflow of a task's only webhook."""
    ids = [f"webhook-{place}-of-{task_id}" for place in range(1, MOST + 1)]
    found = []
    for workflow_id in ids:
        try:
            await client.get_workflow_handle(workflow_id).describe()
            found.append(workflow_id)
        except Exception:
            continue
    (only,) = found
    await eventually(lambda: _is_listed(client, only), 60)
    return only


async def _is_listed(client: Client, workflow_id: str) -> bool:
    return bool((await client.count_workflows(f"WorkflowId = '{workflow_id}'")).count)


async def test_a_task_has_few_webhooks_however_many_come_at_once(gateway: Gateway) -> None:
    """No worker runs: registering needs none."""
    async with sdk_client(gateway.url, streaming=False) as caller:
        task = await send(caller, at_once(message(data_part(request()))))

        def create(name: str, url: str = "http://127.0.0.1:9/") -> Any:
            return caller.create_task_push_notification_config(
                TaskPushNotificationConfig(task_id=task.id, id=name, url=url)
            )

        outcomes = await asyncio.gather(*(create(f"w{n}") for n in range(3 * MOST)), return_exceptions=True)
        refused = [outcome for outcome in outcomes if isinstance(outcome, BaseException)]
        assert len(refused) == 2 * MOST
        assert all(isinstance(refusal, UnsupportedOperationError) for refusal in refused)
        assert says().within(str(refused[0]))
        names = {hook.id for hook in await listed(caller, task.id)}
        assert len(names) == MOST
        kept = next(iter(names))
        await asyncio.gather(*(create(kept, "http://127.0.0.1:9/other") for _ in range(5)))
        assert {hook.id: hook.url for hook in await listed(caller, task.id)}[kept] == "http://127.0.0.1:9/other"
        away = DeleteTaskPushNotificationConfigRequest(task_id=task.id, id=kept)
        await caller.delete_task_push_notification_config(away)
        await caller.delete_task_push_notification_config(away)
        assert {hook.id for hook in await listed(caller, task.id)} == names - {kept}
        with pytest.raises(TaskNotFoundError, check=says(webhook=re.compile(r"\bw\d\b"))):
            await caller.get_task_push_notification_config(
                GetTaskPushNotificationConfigRequest(task_id=task.id, id=kept)
            )
        await create("in its place")
        with pytest.raises(TaskNotFoundError):
            await caller.create_task_push_notification_config(
                TaskPushNotificationConfig(task_id="nonesuch", url="http://127.0.0.1:9/")
            )


@pytest.mark.usefixtures("notifications")
async def test_the_same_webhook_again_is_told_nothing_twice(gateway: Gateway, receiver: Receiver) -> None:
    again = with_webhook(message(data_part(request())), receiver.url, token="T")
    async with sdk_client(gateway.url, streaming=False) as caller:
        task = await send(caller, again)
        await eventually(lambda: receiver.has_heard_the_end, 60)
        assert (await send(caller, again)).id == task.id
        (kept,) = await listed(caller, task.id)
        assert (kept.id, kept.url) == (task.id, receiver.url)
        await caller.delete_task_push_notification_config(
            DeleteTaskPushNotificationConfigRequest(task_id=task.id, id=task.id)
        )
        assert await listed(caller, task.id) == []
        assert state_name((await caller.get_task(GetTaskRequest(id=task.id))).status.state) == "completed"
    assert receiver.sequences() == STORY


async def test_03_over_http_json(gateway: Gateway) -> None:
    sent = {"messageId": "m", "role": "ROLE_USER", "content": [{"text": json.dumps(request())}]}
    body = {"message": sent, "configuration": {"blocking": False, "push_notification": {"url": "http://127.0.0.1:9/"}}}
    task = (await gateway.http.post("/v1/message:send", json=body)).json()["task"]
    path = f"/v1/tasks/{task['id']}/pushNotificationConfigs"
    (kept,) = (await gateway.http.get(path)).json()["configs"]
    assert kept["pushNotificationConfig"]["url"] == "http://127.0.0.1:9/"
    assert (await gateway.http.delete(f"{path}/{task['id']}")).status_code == 200
    assert not (await gateway.http.get(path)).json().get("configs")
    assert (await gateway.http.delete("/v1/tasks/nonesuch/pushNotificationConfigs/x")).status_code == 404


async def test_what_a_caller_entrusts_is_read_by_nobody_else(gateway: Gateway, client: Client) -> None:
    secrets: dict[str, Any] = {
        "token": "T0ken-9",
        "authentication": AuthenticationInfo(scheme="Bearer", credentials="s3cret-9"),
    }
    async with sdk_client(gateway.url, streaming=False) as caller:
        asked = with_webhook(at_once(message(data_part(request()))), "http://127.0.0.1:9/key-9", **secrets)
        task = await send(caller, asked)
        (kept,) = await listed(caller, task.id)
        assert (kept.url, kept.token, kept.authentication) == (
            "http://127.0.0.1:9/key-9",
            "",
            AuthenticationInfo(scheme="Bearer"),
        )
        made = await caller.create_task_push_notification_config(
            TaskPushNotificationConfig(task_id=task.id, id="2", url="http://127.0.0.1:9/", **secrets)
        )
        assert made.authentication.credentials == "s3cret-9"
    for workflow_id in (task.id, *(f"webhook-{place}-of-{task.id}" for place in range(1, MOST + 1))):
        try:
            history = await client.get_workflow_handle(workflow_id).fetch_history()
        except Exception:
            continue
        assert not any(secret in history.to_json() for secret in ("T0ken-9", "s3cret-9", "key-9"))


@pytest.mark.parametrize(
    "url",
    [
        "ftp://example.org/",
        "http://",
        "not a url",
        "http://169.254.169.254/latest/meta-data/",
        "http://0.0.0.0:8000/",
        "http://0/",
        "http://2852039166/",
        "http://0xa9fea9fe/",
        "http://user:password@127.0.0.1/",
        "http://no-such-host.invalid/",
        "http://127.0.0.1/" + "x" * 3_000,
        "http://127.0.0.1:0/",
    ],
)
async def test_an_address_that_no_webhook_may_have_is_refused(
    gateway: Gateway, client: Client, config: GreenAgentConfig, url: str
) -> None:
    async with sdk_client(gateway.url, streaming=False) as caller:
        with pytest.raises(InvalidParamsError, check=says()):
            await send(caller, with_webhook(at_once(message(data_part(request()))), url))
    assert (await client.count_workflows(f"TaskQueue = '{config.task_queue}'")).count == 0


@pytest.mark.parametrize("header", [{"token": "a\nb"}, {"token": "ü"}, {"token": "x" * 5_000}])
async def test_a_token_that_fits_no_header_is_refused(gateway: Gateway, header: dict[str, str]) -> None:
    async with sdk_client(gateway.url, streaming=False) as caller:
        with pytest.raises(InvalidParamsError, check=says()):
            await send(caller, with_webhook(message(data_part(request())), "http://127.0.0.1:9/", **header))


@pytest.mark.usefixtures("notifications")
async def test_a_name_that_changes_its_address_gets_nothing(
    gateway: Gateway, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was harmless when it was registered, and is looked at again before every notification."""
    answers = iter([("127.0.0.1", 0)])
    usual = socket.getaddrinfo

    def rebinding(host: Any, *rest: Any, **options: Any) -> Any:
        if host != "rebinding.example":
            return usual(host, *rest, **options)
        return [(0, 0, 0, "", next(answers, ("169.254.169.254", 0)))]

    monkeypatch.setattr(socket, "getaddrinfo", rebinding)
    async with sdk_client(gateway.url, streaming=False) as caller:
        task = await send(caller, with_webhook(message(data_part(request())), "http://rebinding.example/"))
    with pytest.raises(WorkflowFailureError) as failure:
        await client.get_workflow_handle(await place_of(client, task.id)).result()
    assert says().within(str(failure.value.cause.__cause__))
    assert state_name(task.status.state) == "completed"
