"""What the participant's key opens: all that a user may do while the assessment runs, nothing else, nothing later."""

from collections.abc import Collection
from typing import Any

import httpx
from a2a.types import CancelTaskRequest

from proctor.activities.simulation.keys import USER_PERMISSIONS
from tests.a2a_gateway.callers import sdk_client
from tests.assessments import participants
from tests.assessments.observers import running
from tests.assessments.participants import DONE, Json, by_hand
from tests.stack import Stack

Statuses = dict[str, int]
"""An operation (method and path) to the status that it was answered with."""

MUST_BE_REFUSED = {
    "POST /email/receive",
    "POST /simulator/time/advance",
    "POST /simulator/time/set",
    "POST /simulator/time/skip-to-next",
    "POST /simulation/stop",
    "POST /simulation/clear",
    "POST /events",
    "POST /events/immediate",
    "GET /events",
    "POST /keys",
    "GET /scenario/export/full",
    "POST /scenario/import/full",
}
"""What stands in the contract, so that a table of routes that forgets one is found out."""


async def knock(start: Json, operations: Collection[tuple[str, str]]) -> Statuses:
    """Call operations with the participant's key and an empty body."""
    async with httpx.AsyncClient(headers={"X-API-Key": start["api_key"]}, timeout=120) as http:
        return {
            f"{method} {path}": (
                await http.request(method, start["ues_url"] + path.replace("{", "").replace("}", ""), json={})
            ).status_code
            for method, path in operations
        }


async def read_operations(ues_url: str) -> dict[tuple[str, str], str]:
    """Every operation that needs a permission, and which one, as the simulator itself describes them."""
    async with httpx.AsyncClient() as http:
        paths: dict[str, dict[str, Any]] = (await http.get(f"{ues_url}/openapi.json")).json()["paths"]
    return {
        (method.upper(), path): operation["x-permission"]
        for path, methods in paths.items()
        for method, operation in methods.items()
        if "x-permission" in operation
    }


async def test_the_key_opens_what_a_user_may_do_and_nothing_else_until_the_judging_begins(stack: Stack) -> None:
    operations: dict[tuple[str, str], str] = {}
    found: Statuses = {}
    at_the_host: Statuses = {}

    async def try_every_door(_said: Json) -> Json:
        start = participant.messages[0]
        operations.update(await read_operations(start["ues_url"]))
        found.update(await knock(start, operations))
        host = {**start, "ues_url": stack.ues_url}
        own = start["ues_url"].removeprefix(stack.ues_url)
        at_the_host.update(await knock(host, [("GET", "/simulations"), ("POST", "/simulations"), ("DELETE", own)]))
        return participants.message(participants.data(DONE))

    async with (
        by_hand(try_every_door) as participant,
        running(stack, participant.url, "evaluator_waits", max_turns=1) as assessment,
        sdk_client(stack.gateway_url) as caller,
    ):
        await assessment.until("evaluation_started")
        in_judging = await knock(participant.messages[0], operations)
        await caller.cancel_task(CancelTaskRequest(id=assessment.task_id))
        await assessment.end()
        afterwards = await knock(participant.messages[0], sorted(operations)[::10])

    opened = {f"{method} {path}" for (method, path), needed in operations.items() if needed in USER_PERMISSIONS}
    closed = found.keys() - opened
    assert closed >= MUST_BE_REFUSED
    assert {door: status for door, status in found.items() if door in closed and status != 403} == {}
    assert {door: status for door, status in found.items() if door in opened and status in (401, 403)} == {}
    assert not [status for status in found.values() if status >= 500]
    resources = {needed.partition(":")[0] for needed in operations.values()}
    promised = {needed for needed in USER_PERMISSIONS if needed.partition(":")[0] in resources}
    assert promised <= set(operations.values())
    assert {"email", "chat"} <= resources
    assert set(at_the_host.values()) == {401}, "the key of a simulation is none for its host"
    assert len(at_the_host) == 3
    assert set(in_judging.values()) == set(afterwards.values()) == {401}
    assert len(in_judging) > 50
