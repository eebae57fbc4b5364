"""The simulator's client against a server that misbehaves; ``test_ues_contract`` is its twin against a real one."""

import asyncio
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest

from purple_sdk import ues
from purple_sdk.actions import ActionRecorder
from tests.purple_sdk.scripted import HANG_UP, Scripted, scripted_server
from tests.sentences import says

NOW = datetime(2026, 3, 2, 8, tzinfo=UTC)
TIME = {
    "current_time": "2026-03-02T08:00:00",
    "time_scale": 1,
    "is_paused": False,
    "auto_advance": False,
    "mode": "manual",
}
DONE = {
    "event_id": "e1",
    "scheduled_time": "2026-03-02T08:00:01+00:00",
    "status": "executed",
    "message": "ok",
    "modality": "email",
}


@pytest.fixture
def server() -> Iterator[Scripted]:
    with scripted_server() as script:
        yield script


def sync(server: Scripted, **options: Any) -> ues.UESClient:
    return ues.UESClient(server.url, "secret", **options)


def test_async_and_sync_say_the_same(server: Scripted) -> None:
    server.answers = [(200, TIME), (200, {"emails": []}), (200, TIME), (200, {"emails": []})]

    async def awaited() -> Any:
        async with ues.AsyncUESClient(server.url + "/", "secret") as client:
            return await client.time.get_state(), await client.email.query(is_read=False, limit=5)

    with sync(server) as client:
        at_once = client.time.get_state(), client.email.query(is_read=False, limit=5)
    assert asyncio.run(awaited()) == at_once
    assert server.requests[:2] == server.requests[2:]
    assert server.requests[1] == ("POST", "/email/query", {"is_read": False, "limit": 5})
    assert at_once[0].current_time == NOW
    assert {headers["x-api-key"] for headers in server.headers} == {"secret"}


def test_fields_go_where_they_belong(server: Scripted) -> None:
    listed = {"events": [], "total": 0, "pending": 0, "executed": 0, "failed": 0, "skipped": 0}
    server.answers = [
        (200, listed),
        (200, {}),
        (200, {"restored": True, "checkpoint": "ab"}),
        (200, {}),
        (200, b"\0raw"),
    ]
    with sync(server) as client:
        client.events.list(start_time=NOW, status="pending")
        client.events.delete("a/b c")
        client.simulation.restore(b'{"any": "bytes"}')
        client.environment.query_modality("email", {"is_read": False})
        assert client.simulation.checkpoint() == b"\0raw"
    assert server.requests == [
        ("GET", "/events?status=pending&start_time=2026-03-02T08%3A00%3A00%2B00%3A00", None),
        ("DELETE", "/events/a%2Fb%20c", None),
        ("POST", "/simulation/restore", {"any": "bytes"}),
        ("POST", "/environment/modalities/email/query", {"is_read": False}),
        ("GET", "/simulation/checkpoint", None),
    ]


def test_the_users_own_addresses_fill_themselves_in_and_are_asked_for_once(server: Scripted) -> None:
    own = (200, {"user_email_address": "me@example.com", "user_phone_number": "+15550100"})
    server.answers = [own, (200, DONE), (200, DONE), own, (200, DONE), (200, DONE)]
    with sync(server) as client:
        client.email.send(to_addresses=["a@x.org"], subject="s", body_text="b")
        client.calendar.respond(event_id="e", response="accepted")
        client.sms.send(to_numbers=["+15550101"], body="b")
        client.email.send(from_address="else@x.org", to_addresses=["a@x.org"], subject="s", body_text="b")
    assert server.paths == [
        "GET /email/state?compact=true",
        "POST /email/send",
        "POST /calendar/respond",
        "GET /sms/state?compact=true",
        "POST /sms/send",
        "POST /email/send",
    ]
    bodies = [body for _, _, body in server.requests if body]
    assert bodies[0]["from_address"] == "me@example.com"
    assert bodies[1]["attendee_email"] == "me@example.com"
    assert bodies[2]["from_number"] == "+15550100"
    assert bodies[3]["from_address"] == "else@x.org"


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, ues.BadRequestError),
        (401, ues.AuthenticationError),
        (403, ues.PermissionDeniedError),
        (404, ues.NotFoundError),
        (409, ues.ConflictError),
        (422, ues.ValidationError_),
        (418, ues.UESResponseError),
        (302, ues.UESResponseError),
        (500, ues.ServerError),
        (507, ues.ServerError),
    ],
)
def test_one_class_per_kind_of_refusal(server: Scripted, status: int, kind: type[ues.UESResponseError]) -> None:
    server.answers = [(status, {"detail": "because of the moon"})]
    with sync(server) as client, pytest.raises(ues.UESError) as caught:
        client.email.delete(["m1"])
    assert type(caught.value) is kind
    assert caught.value.status == status
    assert caught.value.detail == "because of the moon"
    assert str(caught.value) == says(str(status))
    assert "secret" not in f"{caught.value}{client!r}"


@pytest.mark.parametrize(
    "body",
    [
        {
            "error": "Validation Error",
            "detail": [{"type": "t", "loc": ["body", "subject"], "msg": "too long", "input": 1}] * 5,
        },
        {"detail": {"message": "2 holds are active", "active_holds": []}},
        {"error": "no"},
        b"<html>gateway</html>",
        b"",
    ],
)
def test_a_refusal_carries_the_servers_sentence(server: Scripted, body: Any) -> None:
    server.answers = [(422, body)]
    with sync(server) as client, pytest.raises(ues.ValidationError_) as caught:
        client.email.read(["m"])
    assert str(caught.value) == says("422")


@pytest.mark.parametrize("trouble", [503, 502, 504, 429, HANG_UP])
def test_reading_is_tried_again(server: Scripted, trouble: Any) -> None:
    server.answers = [trouble, trouble, (200, TIME)]
    with sync(server) as client:
        assert client.time.get_state().current_time == NOW
        server.answers = [trouble, (200, {"emails": []})]
        client.email.query()
    assert server.paths == ["GET /simulator/time"] * 3 + ["POST /email/query"] * 2


@pytest.mark.parametrize(("trouble", "kind"), [(503, ues.ServerError), (HANG_UP, ues.UESConnectionError)])
def test_reading_is_not_tried_for_ever(server: Scripted, trouble: Any, kind: type[ues.UESError]) -> None:
    server.answers = [trouble] * 9
    with sync(server) as client, pytest.raises(kind):
        client.time.get_state()
    assert len(server.requests) == 4


@pytest.mark.parametrize("trouble", [503, 429, HANG_UP])
def test_an_action_is_sent_once(server: Scripted, trouble: Any) -> None:
    server.answers = [trouble]
    with sync(server) as client, pytest.raises(ues.UESError):
        client.chat.send(role="assistant", content="hello")
    assert len(server.requests) == 1


@pytest.mark.parametrize("status", [500, 404, 409])
def test_what_would_fail_again_is_not_tried_again(server: Scripted, status: int) -> None:
    server.answers = [status]
    with sync(server) as client, pytest.raises(ues.UESResponseError):
        client.time.get_state()
    assert len(server.requests) == 1


def test_timeouts_are_told_apart_from_refused_connections(server: Scripted) -> None:
    server.answers = [3600.0]
    with sync(server, timeout=0.2) as client, pytest.raises(ues.UESTimeoutError, check=says("0.2")):
        client.email.star(["m"])
    with (
        ues.UESClient("http://127.0.0.1:9", "k") as nobody,
        pytest.raises(ues.UESConnectionError, check=says("http://127.0.0.1:9")),
    ):
        nobody.email.star(["m"])


def test_success_that_is_not_what_was_promised(server: Scripted) -> None:
    server.answers = [(200, b"<html>"), (200, [1]), (200, TIME | {"current_time": "noon"})]
    with sync(server) as client:
        with pytest.raises(ues.UnexpectedAnswerError, check=says()):
            client.email.get_state()
        with pytest.raises(ues.UnexpectedAnswerError, check=says()):
            client.email.get_state()
        with pytest.raises(ues.UnexpectedAnswerError, check=says("current_time")):
            client.time.get_state()


def test_bad_arguments_are_the_callers() -> None:
    for address in ("", "ftp://x", "127.0.0.1:8100", "http://", "http://[::1"):
        with pytest.raises(ValueError, check=says("http://127.0.0.1:8100")):
            ues.UESClient(address, "k")
    with ues.UESClient("http://127.0.0.1:9", "k") as client:
        with pytest.raises(TypeError):
            client.email.send(to="x")  # type: ignore[call-arg]
        with pytest.raises(ues.UESError, check=says()):
            client.chat.send(role="assistant", content="half a \ud83d")


def test_connections_are_reused(server: Scripted) -> None:
    async def many() -> None:
        async with ues.AsyncUESHost(server.url, "host-key") as host:
            for number in range(5):
                async with host.simulation(f"s{number}", "key") as client:
                    await client.email.get_state()

    asyncio.run(many())
    assert server.paths == [f"GET /simulations/s{number}/email/state" for number in range(5)]
    assert {headers["x-api-key"] for headers in server.headers} == {"key"}
    assert len(server.connections) == 1


def test_a_cancelled_call_leaves_the_client_usable(server: Scripted) -> None:
    server.answers = [3600.0, (200, TIME)]

    async def cancelled() -> datetime:
        async with ues.AsyncUESClient(server.url, "k") as client:
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(client.email.get_state(), 0.1)
            return (await client.time.get_state()).current_time

    assert asyncio.run(cancelled()) == NOW


def test_actions_report_themselves(server: Scripted) -> None:
    failed = DONE | {"status": "failed", "message": "no such email"}
    server.answers = [(200, DONE), (200, failed), (403, {"detail": "email:delete is missing"}), (200, {"emails": []})]
    recorder = ActionRecorder(NOW)
    with sync(server, observer=recorder) as client:
        client.email.label(["m1"], ["urgent"])
        client.email.star(["m2"])
        with pytest.raises(ues.PermissionDeniedError):
            client.email.delete(["m3"])
        client.email.query(folder="inbox")
        with pytest.raises(ues.UESError):
            client.chat.send(role="assistant", content="half a \ud83d")
    label, star, delete, chat = recorder.entries
    assert (label.action, label.parameters, label.success) == (
        "email.label",
        {"message_ids": ["m1"], "labels": ["urgent"]},
        True,
    )
    assert label.timestamp == datetime(2026, 3, 2, 8, 0, 1, tzinfo=UTC)
    assert (star.action, star.success, star.error_message) == ("email.star", False, "no such email")
    assert (delete.action, delete.success, delete.timestamp) == ("email.delete", False, NOW)
    assert "email:delete is missing" in (delete.error_message or "")
    assert (chat.action, chat.parameters, chat.success) == ("chat.send_message", {}, False)
    recorder.begin_turn(NOW)
    assert recorder.entries == []


def test_many_at_once(server: Scripted) -> None:
    async def many() -> int:
        async with ues.AsyncUESClient(server.url, "k") as client:
            await asyncio.gather(*(client.email.query(offset=number) for number in range(100)))
        return len(server.requests)

    assert asyncio.run(many()) == 100


def test_the_client_alone_loads_no_web_server() -> None:
    code = "import sys, purple_sdk.ues; print([m for m in ('uvicorn', 'starlette', 'a2a') if m in sys.modules])"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "[]"
