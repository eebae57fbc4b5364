"""Many clients at once: on one simulation nothing is lost or torn, on many nobody sees another's data or keys."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable
from typing import Any, TypeVar

import httpx

from tests.ues.helpers import HOST_KEY, Server, Sim, at
from tests.waiting import PATIENCE
from tests.work import NIGHTLY

T = TypeVar("T")

CLIENTS = 50 if NIGHTLY else 16
MANY = 200 if NIGHTLY else 16
ACTIONS = 8 if NIGHTLY else 3
ME = "user@example.com"


def client_of(sim: Sim) -> httpx.AsyncClient:
    return httpx.AsyncClient(base_url=sim.made["base_url"], headers={"X-API-Key": sim.secret}, timeout=60, verify=False)


async def at_once(works: Iterable[Callable[[], Awaitable[T]]]) -> list[T]:
    return list(await asyncio.gather(*(work() for work in works)))


def mail(name: str) -> dict[str, Any]:
    return {"from_address": f"{name}@example.com", "to_addresses": [ME], "subject": name, "body_text": f"from {name}"}


def is_whole(state: dict[str, Any]) -> bool:
    """Whether a state's counts, lists and threads agree, as they do at any instant between two events."""
    emails = state["emails"]
    listed = Counter(message_id for ids in state["folders"].values() for message_id in ids)
    threaded = [message_id for thread in state["threads"].values() for message_id in thread["message_ids"]]
    return (
        state["total_email_count"] == len(emails)
        and state["unread_count"] == sum(not email["is_read"] for email in emails.values())
        and listed == Counter(list(emails))
        and sorted(threaded) == sorted(emails)
    )


def test_many_clients_of_one_simulation_lose_nothing_and_read_nothing_torn(server: Server) -> None:
    sim = server.new_simulation()
    sim.ok("POST", "/simulation/start", {})

    async def busy(number: int) -> list[bool]:
        whole = []
        async with client_of(sim) as client:
            for action in range(ACTIONS):
                name = f"c{number}-{action}"
                received = await client.post("/email/receive", json=mail(name))
                assert received.json()["status"] == "executed"
                state = (await client.get("/email/state")).json()
                whole.append(is_whole(state))
                own = next(key for key, email in state["emails"].items() if email["subject"] == name)
                assert (await client.post("/email/read", json={"message_ids": [own]})).is_success
                assert (await client.post("/email/label", json={"message_ids": [own], "labels": ["seen"]})).is_success
                await client.post("/simulator/time/advance", json={"seconds": 1})
        return whole

    async def all_busy() -> list[list[bool]]:
        return await at_once([lambda n=n: busy(n) for n in range(CLIENTS)])  # type: ignore[misc]

    wholes = asyncio.run(all_busy())
    assert all(all(whole) for whole in wholes)
    state = sim.state("email")
    assert Counter(email["subject"] for email in state["emails"].values()) == Counter(
        f"c{number}-{action}" for number in range(CLIENTS) for action in range(ACTIONS)
    )
    assert all(email["is_read"] and email["labels"] == ["seen"] for email in state["emails"].values())
    assert is_whole(state)
    assert sim.ok("GET", "/events/summary")["executed"] == CLIENTS * ACTIONS * 3
    assert sim.ok("GET", "/simulator/time")["current_time"].startswith(at(CLIENTS * ACTIONS)[:19])
    sim.delete_me()


def test_many_simulations_at_once_share_nothing(server: Server) -> None:
    sims = [server.new_simulation(seed=str(number)) for number in range(CLIENTS)]
    for sim in sims:
        sim.ok("POST", "/simulation/start", {})

    async def live(number: int) -> None:
        sim, other = sims[number], sims[(number + 1) % CLIENTS]
        async with client_of(sim) as client:
            for action in range(ACTIONS):
                assert (await client.post("/email/receive", json=mail(f"s{number}-{action}"))).is_success
                chat = {"role": "user", "content": f"s{number}"}
                assert (await client.post("/chat/send", json=chat)).is_success
                assert (await client.post("/simulator/time/advance", json={"seconds": number + 1})).is_success
            key = await client.post("/keys", json={"name": f"k{number}", "permissions": ["email:state"]})
            there = f"{other.made['base_url']}/email/state"
            for secret in (sim.secret, key.json()["secret"]):
                assert (await client.get(there, headers={"X-API-Key": secret})).status_code == 401
            known = (await client.get("/keys")).json()["keys"]
            assert [k["name"] for k in known if k["name"].startswith("k")] == [f"k{number}"]

    async def all_live() -> None:
        await at_once([lambda n=n: live(n) for n in range(CLIENTS)])  # type: ignore[misc]

    asyncio.run(all_live())
    for number, sim in enumerate(sims):
        subjects = {email["subject"] for email in sim.state("email")["emails"].values()}
        assert subjects == {f"s{number}-{action}" for action in range(ACTIONS)}
        assert {message["content"] for message in sim.state("chat")["messages"]} == {f"s{number}"}
        log = sim.ok("GET", "/access-logs", limit=1000)
        assert all(entry["path"].startswith("/") and "simulations" not in entry["path"] for entry in log["logs"])
        sim.delete_me()


def test_many_busy_simulations_make_no_errors(server: Server) -> None:
    async def life(http: httpx.AsyncClient, number: int) -> list[int]:
        made = (await http.post("/simulations", json={"seed": str(number)}, headers={"X-API-Key": HOST_KEY})).json()
        base, headers = made["base_url"], {"X-API-Key": made["admin_key"]}
        codes = [(await http.post(f"{base}/simulation/start", json={}, headers=headers)).status_code]
        for action in range(2):
            for method, path, body in (
                ("POST", "/email/receive", mail(f"{action}")),
                ("POST", "/email/query", {"limit": 5}),
                ("GET", "/environment/state", None),
                ("GET", "/simulation/checkpoint", None),
                ("POST", "/simulator/time/advance", {"seconds": 60}),
            ):
                codes.append((await http.request(method, base + path, json=body, headers=headers)).status_code)
        found = (await http.post(base + "/email/query", json={}, headers=headers)).json()
        assert [len(found["emails"]), found["total_count"]] == [2, 2]
        gone = await http.delete(f"/simulations/{made['simulation_id']}", headers={"X-API-Key": HOST_KEY})
        return [*codes, gone.status_code]

    async def all_lives() -> list[list[int]]:
        limits = httpx.Limits(max_connections=200)
        async with httpx.AsyncClient(base_url=server.url, timeout=PATIENCE, limits=limits) as http:
            return await at_once([lambda n=n: life(http, n) for n in range(MANY)])  # type: ignore[misc]

    codes = Counter(code for life in asyncio.run(all_lives()) for code in life)
    assert set(codes) <= {200, 201, 204}, codes
    assert sum(codes.values()) == MANY * 12
