"""Temporal is asked about tasks no more often than needed: equal questions and ended runs once, and within a bound."""

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from typing import Any

import pytest
from a2a.types import Task
from temporalio.client import Client, Interceptor, OutboundInterceptor

from proctor.a2a_gateway import answers
from proctor.a2a_gateway.answers import Answers
from proctor.a2a_gateway.events import update_event
from proctor.a2a_gateway.subscriptions import Update
from proctor.a2a_gateway.tasks import wait_until_closed
from proctor.settings.config import GreenAgentConfig
from proctor.storage.temporal import connect
from tests.a2a_gateway.callers import data_part, message, sdk_client, send
from tests.a2a_gateway.conftest import request, reset, running_gateway
from tests.sentences import says
from tests.work import calls_in


class Asked(Interceptor):
    """Counts what Temporal is asked; a description is held back until it is allowed."""

    def __init__(self) -> None:
        self.histories = 0
        self.is_described = asyncio.Event()
        self.may_describe = asyncio.Event()
        self.may_describe.set()

    def intercept_client(self, next: OutboundInterceptor) -> OutboundInterceptor:  # noqa: A002
        asked = self

        class Counting(OutboundInterceptor):
            def fetch_workflow_history_events(self, input: Any) -> Any:  # noqa: A002
                asked.histories += 1
                return super().fetch_workflow_history_events(input)

            async def describe_workflow(self, input: Any) -> Any:  # noqa: A002
                asked.is_described.set()
                await asked.may_describe.wait()
                return await super().describe_workflow(input)

        return Counting(next)

    async def connect(self, config: GreenAgentConfig) -> Client:
        settings = (await connect(config)).config()
        settings["interceptors"] = [*settings["interceptors"], self]
        return Client(**settings)


def get(task_id: str, **more: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": 1, "method": "GetTask", "params": {"id": task_id, **more}}


IN_1_0 = {"A2A-Version": "1.0"}


@pytest.mark.usefixtures("worker")
async def test_an_ended_run_is_read_once_and_the_next_run_again(client: Client, config: GreenAgentConfig) -> None:
    asked = Asked()
    async with running_gateway(config, partial(asked.connect, config)) as gateway:
        async with sdk_client(gateway.url, streaming=False) as caller:
            task = await send(caller, message(data_part(request())))

        async def got(**more: Any) -> Any:
            return (await gateway.http.post("/", json=get(task.id, **more), headers=IN_1_0)).json()["result"]

        first, with_updates = await got(), await got(historyLength=50)
        read = asked.histories
        assert await got() == first
        assert await got(historyLength=50) == with_updates
        assert len(with_updates["history"]) > len(first.get("history", []))
        assert len((await got(historyLength=2))["history"]) == 2
        assert asked.histories == read
        await reset(client, task.id)
        await wait_until_closed(client, task.id)
        assert (await got())["status"]["timestamp"] > first["status"]["timestamp"]


async def test_questions_beyond_the_bound_are_refused_and_say_when_to_repeat_them(
    config: GreenAgentConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(answers, "MOST_AT_ONCE", 1)
    asked = Asked()
    asked.may_describe.clear()
    async with running_gateway(config, partial(asked.connect, config)) as gateway:
        http = gateway.http
        first = asyncio.create_task(http.post("/", json=get("one"), headers=IN_1_0))
        await asked.is_described.wait()
        refused = [
            await http.post("/", json=get("another"), headers=IN_1_0),
            await http.post("/", json=get("another") | {"method": "tasks/get"}),
            await http.get("/tasks/another", headers=IN_1_0),
            await http.get("/v1/tasks/another"),
        ]
        for answer in refused:
            assert (answer.status_code, answer.headers["retry-after"]) == (503, "2")
            assert says().within(answer.json()["error"]["message"])
        asked.may_describe.set()
        assert (await first).status_code == 200
        assert (await http.post("/", json=get("another"), headers=IN_1_0)).status_code == 200


async def test_equal_questions_are_one_and_none_gets_an_answer_from_before_it_was_asked() -> None:
    asking, begun, may_end = Answers(), 0, asyncio.Event()

    async def ask() -> int:
        nonlocal begun
        begun += 1
        answer = begun
        await may_end.wait()
        return answer

    first = asyncio.create_task(asking.ask("a task", ask))
    while not begun:
        await asyncio.sleep(0)
    others = [asyncio.create_task(asking.ask("a task", ask)) for _ in range(20)]
    left = asyncio.create_task(asking.ask("a task", ask))
    await asyncio.sleep(0)
    left.cancel()
    may_end.set()
    assert (await first, set(await asyncio.gather(*others))) == (1, {2})
    assert begun == 2
    assert await asking.ask("a task", ask) == 3


def test_an_update_is_made_once_for_all_who_listen() -> None:
    task = Task(id="a task", context_id="a context")
    update = Update(3, {"message_type": "x", "turn": [1, 2, 3] * 50}, datetime.now(UTC))
    make: Callable[[], Any] = lambda: update_event(task, update)  # noqa: E731
    update_event(task, Update(2, update.data))  # what the process does at its first update only
    first_calls, first = calls_in(make)
    next_calls, second = calls_in(make)
    assert next_calls * 5 < first_calls
    assert first is second
