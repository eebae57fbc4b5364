"""What a participant's key may ask for, how much of it in a turn, and in whose name.

The limits themselves are settings of the server; here they are small. Whatever is refused changes nothing, has a
sentence that names the limit, and the turn goes on: what is within the limits is still done.
"""

import random
from collections.abc import Iterator
from typing import Any

import pytest

from proctor.activities.simulation.keys import USER_PERMISSIONS as GIVEN
from proctor.ues import USER_PERMISSIONS
from proctor.ues.limits import Limits
from tests.sentences import says
from tests.ues.helpers import START, Server, Sim, at
from tests.work import NIGHTLY, some_of

OWN_MAIL = {"from_address": "user@example.com", "to_addresses": ["ann@example.com"], "subject": "s"}
OWN_SMS = {"from_number": "+1 555 000 0000", "to_numbers": ["+15551110001"], "body": "Hi"}
MEETING = {"title": "t", "start": at(60), "end": at(120)}
KB = 1000


@pytest.fixture(scope="module")
def strict() -> Iterator[Server]:
    """A server whose participants may do little."""
    server = Server(
        UES_LIMIT_REQUEST_BYTES=str(10 * KB), UES_LIMIT_REQUESTS_PER_TURN="20", UES_LIMIT_GROWTH_PER_TURN=str(50 * KB)
    )
    yield server
    server.stop()


@pytest.fixture
def limited(strict: Server) -> Iterator[Sim]:
    """A running simulation on that server."""
    sim = strict.new_simulation()
    sim.ok("POST", "/simulation/start", {})
    yield sim
    sim.delete_me()


def refused(client: Sim, status: int, method: str, path: str, body: Any = None) -> str:
    """The sentence with which a request is refused."""
    answer = client.request(method, path, json=body)
    assert answer.status_code == status, answer.text
    assert set(answer.json()) == {"error", "detail"}
    return str(answer.json()["detail"])


# --- how much ---------------------------------------------------------------------------------------------------------


def test_the_limits_as_they_are_delivered() -> None:
    limits = Limits()
    assert (limits.request_bytes, limits.requests_per_turn, limits.growth_per_turn) == (262_144, 20_000, 50_000_000)
    assert (limits.nesting, limits.first_year, limits.last_year) == (32, 1900, 2200)


def test_a_request_may_be_so_large(limited: Sim) -> None:
    participant = limited.participant()
    told = refused(participant, 413, "POST", "/email/send", {**OWN_MAIL, "body_text": "x" * 10 * KB})
    assert "10,000 bytes" in told
    assert "UES_LIMIT_REQUEST_BYTES" in told
    assert participant.do("/email/send", **OWN_MAIL, body_text="x" * 9 * KB)
    assert limited.do("/email/send", **OWN_MAIL, body_text="x" * 100 * KB), "the evaluator's key has no such limit"


def test_a_body_of_unknown_length_is_measured_as_it_comes(limited: Sim) -> None:
    def dripping() -> Iterator[bytes]:
        for _ in range(100):
            yield b" " * KB

    assert limited.participant().post("/email/send", content=dripping()).status_code == 413


def test_a_turn_has_so_many_requests(limited: Sim) -> None:
    participant = limited.participant()
    for _ in range(20):
        participant.ok("GET", "/simulator/time")
    told = refused(participant, 429, "GET", "/email/state")
    assert "20 requests" in told
    assert "UES_LIMIT_REQUESTS_PER_TURN" in told
    assert limited.ok("GET", "/email/state"), "the evaluator isn't held up"
    limited.ok("POST", "/simulator/time/advance", {"seconds": 1})
    assert participant.ok("GET", "/email/state"), "the next turn has as many again"


def test_what_is_refused_counts_as_a_request_too(limited: Sim) -> None:
    participant = limited.participant()
    for _ in range(20):
        assert participant.post("/simulator/time/advance", json={"seconds": 1}).status_code == 403
    assert participant.get("/simulator/time").status_code == 429


def test_the_limits_hold_for_mcp_where_a_tool_call_is_a_message_and_a_request(limited: Sim) -> None:
    participant = limited.participant()

    def send_mail(body: str) -> Any:
        params = {"name": "email_send", "arguments": {**OWN_MAIL, "body_text": body}}
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        return participant.post("/mcp", json=message, headers={"Accept": "application/json"})

    assert "UES_LIMIT_REQUEST_BYTES" in send_mail("x" * 10 * KB).json()["detail"]
    told = [send_mail("x" * 8 * KB).json()["result"] for _ in range(4)]
    assert [result["isError"] for result in told][0::3] == [False, True]
    assert "UES_LIMIT_GROWTH_PER_TURN" in told[3]["content"][0]["text"]
    while participant.get("/simulator/time").status_code == 200:
        pass
    assert send_mail("x").status_code == 429
    limited.ok("POST", "/simulator/time/advance", {"seconds": 1})
    assert send_mail("x").json()["result"]["isError"] is False


def test_a_turn_may_let_the_simulation_grow_so_far(limited: Sim) -> None:
    participant = limited.participant()
    mails = 0
    while (answer := participant.post("/email/send", json={**OWN_MAIL, "body_text": "x" * 8 * KB})).is_success:
        mails += 1
    assert 2 <= mails <= 3, "a mail is kept twice, in its event and in the mailbox"
    assert (answer.status_code, "UES_LIMIT_GROWTH_PER_TURN" in answer.json()["detail"]) == (413, True)
    assert len(limited.state("email")["emails"]) == mails
    assert participant.ok("POST", "/email/query", {}), "reading goes on"
    limited.ok("POST", "/simulator/time/set", {"target_time": at(5)})
    participant.do("/email/send", **OWN_MAIL, body_text="next turn")


def test_a_small_request_cannot_write_much(limited: Sim) -> None:
    """Ten long labels on a hundred mails are a megabyte in the state, and one of nine kilobytes on the way."""
    for number in range(100):
        limited.do("/email/receive", **{**OWN_MAIL, "subject": str(number)}, body_text="x")
    ids = list(limited.state("email")["emails"])
    before = limited.state("email")
    body = {"message_ids": ids, "labels": [f"{number}" + "x" * 400 for number in range(10)]}
    participant = limited.participant()
    assert "UES_LIMIT_GROWTH_PER_TURN" in refused(participant, 413, "POST", "/email/label", body)
    assert limited.state("email") == before
    assert participant.post("/chat/send", json={"role": "assistant", "content": "x"}).status_code == 413
    limited.ok("POST", "/simulator/time/advance", {"seconds": 1})
    participant.do("/chat/send", role="assistant", content="x")


def test_a_turn_that_is_played_again_has_its_limits_anew(limited: Sim) -> None:
    participant = limited.participant()
    checkpoint = limited.get("/simulation/checkpoint").content
    for _ in range(20):
        participant.ok("GET", "/simulator/time")
    limited.post("/simulation/restore", content=checkpoint).raise_for_status()
    assert participant.ok("GET", "/simulator/time")


@pytest.fixture(scope="module")
def tight() -> Iterator[Server]:
    """A server that does little for a participant, and reads no large request."""
    server = Server(UES_LIMIT_WORK_PER_TURN="0.001", UES_LIMIT_ADMIN_REQUEST_BYTES=str(200 * KB))
    yield server
    server.stop()


def test_a_turn_has_so_much_of_the_server(tight: Server) -> None:
    participant = tight.new_simulation().participant()
    answers = [participant.get("/environment/state") for _ in range(50)]
    assert answers[0].status_code == 200
    assert answers[-1].status_code == 429
    assert "UES_LIMIT_WORK_PER_TURN" in answers[-1].json()["detail"]


def nested(depth: int) -> Any:
    inside: Any = "x"
    for _ in range(depth):
        inside = [inside]
    return inside


def test_a_request_may_nest_so_deep(sim: Sim) -> None:
    participant = sim.participant()
    # The body, its metadata and a list in it: two of the 32 are used.
    participant.do("/chat/send", role="assistant", content="x", metadata={"a": nested(30)})
    answer = participant.post("/chat/send", json={"role": "assistant", "content": "x", "metadata": {"a": nested(31)}})
    assert answer.status_code == 422
    assert answer.json()["detail"][0]["msg"] == says("32")
    sim.do("/chat/send", role="assistant", content="x", metadata={"a": nested(60)})


@pytest.mark.parametrize(
    ("path", "fields"),
    [
        ("create", {"start": "1899-12-31T23:59:59Z"}),
        ("create", {"end": "9999-12-31T00:00:00Z"}),
        ("create", {"recurrence": {"frequency": "daily", "end_type": "until", "end_date": "2201-01-01"}}),
        ("create", {"recurrence_exceptions": ["9999-01-01"]}),
        ("update", {"event_id": "e", "start": "2201-01-01T00:00:00Z"}),
        ("delete", {"event_id": "e", "recurrence_id": "9999-01-01"}),
    ],
)
def test_what_is_written_lies_within_these_years(sim: Sim, path: str, fields: dict[str, Any]) -> None:
    """One entry in the year 9999 once made six evaluators raise."""
    answer = sim.participant().post(f"/calendar/{path}", json={**MEETING, **fields})
    assert answer.status_code == 422
    assert "years 1900 to 2200" in answer.json()["detail"][0]["msg"]
    assert sim.state("calendar")["events"] == {}
    if path == "create":
        sim.do("/calendar/create", **{**MEETING, "start": START, **fields})


def test_what_is_asked_for_may_lie_in_any_year(sim: Sim) -> None:
    body = {"start": "0001-01-01T00:00:00Z", "end": "9999-12-31T00:00:00Z"}
    assert sim.participant().ok("POST", "/calendar/query", body)["total_count"] == 0


def test_whatever_was_written_can_be_restored(tight: Server) -> None:
    """A checkpoint may be larger than any other body that is read."""
    sim = tight.new_simulation()
    told = refused(sim, 413, "POST", "/email/receive", {**OWN_MAIL, "body_text": "x" * 200 * KB})
    assert "UES_LIMIT_ADMIN_REQUEST_BYTES" in told
    for number in range(3):
        sim.do("/email/receive", **{**OWN_MAIL, "subject": str(number)}, body_text="x" * 190 * KB)
    checkpoint = sim.get("/simulation/checkpoint")
    assert len(checkpoint.content) > 5 * 200 * KB
    sim.do("/chat/send", role="user", content="later")
    sim.post("/simulation/restore", content=checkpoint.content).raise_for_status()
    assert sim.state("chat")["messages"] == []
    assert sim.ok("GET", "/simulation/checkpoint/current")["checkpoint"] == checkpoint.headers["etag"].strip('"')


# --- whose limits -----------------------------------------------------------------------------------------------------


def test_the_key_that_participants_are_given_is_one_of_level_user() -> None:
    assert frozenset(GIVEN) == frozenset(USER_PERMISSIONS)


def test_the_limits_are_those_of_a_key_of_level_user(limited: Sim) -> None:
    more = limited.key(*USER_PERMISSIONS, "events:list")
    for _ in range(30):
        more.ok("GET", "/simulator/time")
    more.do("/chat/send", role="user", content="x" * 20 * KB)


# --- in whose name ----------------------------------------------------------------------------------------------------


def test_a_participant_speaks_as_the_assistant(sim: Sim) -> None:
    participant = sim.participant()
    told = refused(participant, 403, "POST", "/chat/send", {"role": "user", "content": "Well done, assistant!"})
    assert "role 'assistant'" in told
    participant.do("/chat/send", role="assistant", content="Done.")
    assert [message["role"] for message in sim.state("chat")["messages"]] == ["assistant"]


@pytest.mark.parametrize(
    ("path", "body", "field", "own"),
    [
        ("/email/send", {**OWN_MAIL, "body_text": "t"}, "from_address", ["USER@example.com", "Me <user@example.com>"]),
        ("/sms/send", OWN_SMS, "from_number", ["+15550000000", "(555) 000-0000"]),
    ],
)
def test_a_participant_writes_in_the_users_name(sim: Sim, path: str, body: Any, field: str, own: list[str]) -> None:
    participant = sim.participant()
    for other in ("ann@example.com", "+15551110001", "", "user@example.com, ann@example.com"):
        told = refused(participant, 403, "POST", path, {**body, field: other})
        assert field in told
    for address in own:
        participant.do(path, **{**body, field: address})
    assert sim.ok("GET", "/events")["total"] == len(own)


def test_a_participant_reacts_in_the_users_name(sim: Sim) -> None:
    sim.do("/sms/receive", from_number="+15551110001", to_numbers=["+15550000000"], body="Hi")
    (key,) = sim.state("sms")["messages"]
    body = {"message_id": key, "emoji": "👍"}
    told = refused(sim.participant(), 403, "POST", "/sms/react", {**body, "phone_number": "+15551110001"})
    assert "'+15550000000'" in told
    sim.participant().do("/sms/react", **body, phone_number="+15550000000")


def test_the_evaluator_writes_in_anybodys_name(sim: Sim) -> None:
    sim.do("/chat/send", role="user", content="Hello")
    sim.do("/email/send", **{**OWN_MAIL, "from_address": "ann@example.com"}, body_text="t")


# --- what would keep the server from the others -----------------------------------------------------------------------


def hostile(chance: random.Random) -> Iterator[tuple[str, Any]]:
    """Requests that once took minutes, or would have: each makes the server compare much with much."""
    many = [f"{number}" for number in range(20_000)]
    rule = {"frequency": "weekly", "days_of_week": ["monday"], "day_of_month": 31, "month_of_year": 2}
    yield (
        "/contacts/create",
        {"first_name": "a", "identifiers": [{"identifier_type": "x", "value": v} for v in many[:4000]]},
    )
    yield "/contacts/create", {"first_name": "a", "groups": many}
    yield "/email/label", {"message_ids": ["m"], "labels": many}
    yield "/email/read", {"message_ids": many}
    yield "/calendar/query", {"calendar_ids": many}
    for _ in range(15 if NIGHTLY else 1):
        yield "/calendar/create", {**MEETING, "recurrence": rule}
        yield "/calendar/create", {**MEETING, "recurrence": {"frequency": "daily", "end_type": "count", "count": 10**9}}
        yield "/calendar/create", {**MEETING, "recurrence": rule, "recurrence_exceptions": ["2025-01-06"] * 10_000}
    window = {"start": "0001-01-01T00:00:00Z", "end": "9999-12-31T00:00:00Z", "expand_recurring": True}
    yield "/calendar/query", window
    for _ in range(30 if NIGHTLY else 1):
        people = [f"+1{chance.randrange(10**9, 10**10)}" for _ in range(2000)]
        yield "/sms/send", {**OWN_SMS, "to_numbers": people}
    for text in some_of(("a " * 30_000, "(" * 60_000, "(a+)+$" * 10_000, "\\" * 60_000), 1):
        yield "/email/query", {"body_contains": text}
        yield "/email/query", {"from_address": text}
        yield "/contacts/query", {"search_text": text}
        yield "/contacts/query", {"identifier_value": text}
        yield "/sms/query", {"from_number": text}
        yield "/chat/query", {"search": text}
        yield "/calendar/query", {"search": text}


def test_no_request_keeps_the_server_from_the_others(sim: Sim) -> None:
    """Counted in the server's own measure: what all of them took is within what a turn may take."""
    participant = sim.participant()
    for path, body in hostile(random.Random(1)):
        answer = participant.post(path, json=body)
        assert answer.status_code in (200, 400, 413, 422), (path, answer.status_code, answer.text[:200])
    assert participant.ok("GET", "/environment/state", compact="true")
    assert sim.ok("POST", "/environment/validate")["valid"] is True


def test_many_wrong_items_are_not_all_told_of(sim: Sim) -> None:
    answer = sim.participant().post("/email/read", json={"message_ids": [1] * 50_000})
    assert answer.status_code == 422
    assert len(answer.json()["detail"]) == 100


def test_a_long_path_is_cut_in_the_access_log(sim: Sim) -> None:
    sim.participant().get("/email/" + "x" * 5000)
    paths = [entry["path"] for entry in sim.ok("GET", "/access-logs")["logs"]]
    assert max(len(path) for path in paths) <= 201
