"""Looking on from outside: an assessment while it runs, and what it leaves behind."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
from google.protobuf.json_format import MessageToDict

from proctor.activities.simulation.keys import host_key
from proctor.client.caller import Accepted, AssessmentCall, Ended, Progress
from proctor.protocol.campaigns import CampaignUpdate
from proctor.protocol.updates import TaskUpdate
from purple_sdk.processes.http_clients import tls
from purple_sdk.ues import AsyncUESHost
from tests.stack import Assessed, Stack, request_json


async def simulations_left(stack: Stack) -> list[str]:
    """The ids of the simulations on the simulator."""
    async with AsyncUESHost(stack.ues_url, host_key(stack.config.secret.get_secret_value())) as host:
        return [simulation["simulation_id"] for simulation in (await host.list())["simulations"]]


class Running:
    """An assessment that is followed step by step; ``updates`` are those that came so far."""

    def __init__(self, call: AssessmentCall) -> None:
        self._call = call
        self._events = call.events()
        self.task_id = ""
        self.updates: list[TaskUpdate | CampaignUpdate] = []

    async def until(self, kind: str) -> None:
        """Follow it until an update of this kind (``turn_started``) has come; "" for until it was accepted."""
        async for event in self._events:
            if isinstance(event, Accepted):
                self.task_id = event.task_id
                if not kind:
                    return
            elif isinstance(event, Progress):
                self.updates.append(event.update)
                if event.update.message_type == f"update_{kind}":
                    return
            elif isinstance(event, Ended):
                raise AssertionError(f"it ended before {kind}: {event.state}, {event.sentence}")

    async def end(self) -> Assessed:
        """Follow it to its end."""
        async for event in self._events:
            if isinstance(event, Progress):
                self.updates.append(event.update)
            elif isinstance(event, Ended):
                return Assessed(event, self.updates)
        raise AssertionError("the stream ended without an end")

    async def raw_stream(self, stack: Stack) -> bytes:
        """What the gateway streams about it, once it has ended: the same message gets the same story again."""
        message = MessageToDict(self._call._message)
        async with httpx.AsyncClient(timeout=120, trust_env=False, verify=tls()) as http:
            answer = await http.post(
                f"{stack.gateway_url}/message:stream", json={"message": message}, headers={"A2A-Version": "1.0"}
            )
        return answer.content


@asynccontextmanager
async def running(stack: Stack, agent_url: str, scenario_id: str, **config: Any) -> AsyncIterator[Running]:
    """Ask for an assessment; as in ``tests.stack.assess``."""
    async with AssessmentCall(stack.gateway_url, request_json(agent_url, scenario_id, **config)) as call:
        yield Running(call)
