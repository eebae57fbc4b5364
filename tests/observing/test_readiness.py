"""Whether a service lives, and whether it can serve."""

import asyncio

import httpx

from proctor.observing.address import observed as observing
from proctor.observing.readiness import check_needs, remember_success
from tests.observing.conftest import Observed
from tests.sentences import says
from tests.waiting import PATIENCE, eventually


async def get(url: str) -> httpx.Response:
    async with httpx.AsyncClient(timeout=PATIENCE, trust_env=False) as http:
        return await http.get(url)


async def answered(url: str, said: dict[str, str]) -> None:
    """Wait until a service says that all is well: on a busy machine, a look may not end in its time."""

    async def is_said() -> bool:
        ready = await get(url)
        return ready.status_code == 200 and ready.json() == {**ready.json(), **said}

    await eventually(is_said)


async def test_each_service_says_what_it_needs_and_that_it_has_it(observed: Observed) -> None:
    needs = {
        "gateway": ["temporal", "worker", "store"],
        "ues": [],
        "worker": ["temporal", "polls", "store", "archive", "fleet", "scenarios", "simulator"],
    }
    for service, names in needs.items():
        address = observed.address_of(service)
        alive = await get(f"{address}/health")
        assert (alive.status_code, alive.json()) == (200, {"status": "ok"})
        await answered(f"{address}/ready", {"status": "ready", **dict.fromkeys(names, "ok")})
        assert list((await get(f"{address}/ready")).json()) == ["status", *names]
    await answered(f"{observed.evaluator.gateway_url}/ready", {"status": "ok"})


async def test_who_lacks_something_is_alive_and_not_ready() -> None:
    async def away() -> str | None:
        return "Temporal at temporal:7233 doesn't answer."

    async with observing("127.0.0.1", 0, "a service", {"temporal": away}) as address:
        assert (await get(f"{address}/health")).status_code == 200
        ready = await get(f"{address}/ready")
    told = {"status": "not ready", "temporal": "Temporal at temporal:7233 doesn't answer."}
    assert (ready.status_code, ready.json()) == (503, told)


async def test_a_look_that_hangs_or_fails_is_a_sentence() -> None:
    async def hangs() -> str | None:
        await asyncio.Event().wait()
        return None

    async def fails() -> str | None:
        raise ConnectionResetError("gone")

    assert await check_needs({"a": hangs, "b": fails}, seconds=0.01) == {
        "a": says("0.01"),
        "b": says(),
    }


async def test_a_look_that_costs_is_taken_again_only_after_a_problem() -> None:
    answers, taken = iter(["full", None, "full"]), 0

    async def store() -> str | None:
        nonlocal taken
        taken += 1
        return next(answers)

    look = remember_success(3600, store)
    assert [await look() for _ in range(4)] == ["full", None, None, None]
    assert taken == 2
