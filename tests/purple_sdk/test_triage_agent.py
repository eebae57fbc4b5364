"""The baseline, at work in a real simulation, on mail that stands in no scenario."""

from collections.abc import AsyncIterator, Iterator
from datetime import UTC, datetime
from typing import Any

import pytest

from purple_sdk import create_app
from purple_sdk.examples.triage_agent import TriageAgent
from purple_sdk.ues import UESClient, UESHost
from tests.purple_sdk.conftest import Simulator
from tests.purple_sdk.evaluator import Evaluator, start, turn
from tests.purple_sdk.test_triage_rules import ORDERS
from tests.sentences import says
from tests.stack import agent_config, listening

USER = "user@example.com"
PERMISSIONS = [
    "time:read",
    *(f"email:{action}" for action in ("state", "query", "send", "read", "star", "unstar", "label", "archive")),
    *(f"chat:{action}" for action in ("state", "query", "send")),
    "contacts:query",
]


@pytest.fixture
async def agent() -> AsyncIterator[str]:
    async with listening(lambda url: create_app(TriageAgent, agent_config(url))) as url:
        yield url


@pytest.fixture
def admin(simulator: Simulator) -> Iterator[UESClient]:
    with UESHost(*simulator) as host:
        made = host.create(seed=3)
        with host.simulation(made.simulation_id, made.admin_key) as client:
            client.simulation.clear(reset_time_to=datetime(2026, 3, 4, 9, tzinfo=UTC))
            client.simulation.start()
            client.chat.send(role="user", content=ORDERS.replace("acme.example", "example.com"))
            yield client


def receive(admin: UESClient, sender: str, subject: str, body: str) -> str:
    admin.email.receive(from_address=sender, to_addresses=[USER], subject=subject, body_text=body)
    found = admin.email.query(subject_contains=subject, from_address=sender, sort_by="received_at", sort_order="desc")
    return str(found["emails"][0]["message_id"])


def said(admin: UESClient) -> list[str]:
    return [str(message["content"]) for message in admin.chat.query(role="assistant", sort_order="asc")["messages"]]


async def begin(evaluator: Evaluator, admin: UESClient) -> None:
    key = admin.keys.create(name="participant", permissions=PERMISSIONS)
    ready = await evaluator.say(start(ues_url=admin.base_url, api_key=key.secret))
    assert ready.state == "completed", ready.sentence


async def test_two_hours_of_mail(agent: str, admin: UESClient) -> None:
    mails = {
        "now": receive(admin, "ops@example.com", "[SEV-1] INC-77 checkout is down", "Nobody can pay. Ann is on it."),
        "reply": receive(admin, "bob@example.com", "Slides", "Could you send me the slides by Friday?"),
        "junk": receive(admin, "news@shop.example", "Sale", "40% off. Unsubscribe here."),
        "private": receive(admin, "kid@gmail.com", "Keys", "I lost my keys, can you be home by 5 pm?"),
    }
    async with Evaluator(agent) as evaluator:
        await begin(evaluator, admin)
        heard = await evaluator.say(turn(1) | {"current_time": "2026-03-04T09:00:00Z"})
        assert heard.state == "completed", heard.sentence
        emails: dict[str, Any] = admin.email.get_state()["emails"]
        assert {label: emails[mail]["labels"] for label, mail in mails.items()} == {label: [label] for label in mails}
        assert [label for label, mail in mails.items() if emails[mail]["folder"] == "archive"] == ["junk"]
        assert [label for label, mail in mails.items() if emails[mail]["is_starred"]] == ["private"]
        [notice] = admin.email.query(folder="sent")["emails"]
        assert notice["to_addresses"] == ["sam.ops@example.com"]
        assert "INC-77" in notice["subject"]
        assert "Ann is on it" in notice["body_text"]
        [summary] = said(admin)
        assert summary.startswith("URGENT: Ops - [SEV-1] INC-77")
        assert "keys" not in summary
        assert "Sale" not in summary
        assert heard.answer is not None
        reported = [action["action"] for action in heard.answer["actions"]]
        assert sorted(set(reported)) == [
            "chat.send_message",
            "email.archive",
            "email.label",
            "email.send",
            "email.star",
        ]
        assert all(action["success"] for action in heard.answer["actions"])

        nothing_new = await evaluator.say(turn(2))
        assert nothing_new.answer is not None
        assert nothing_new.answer["actions"] == []

        receive(admin, "sam.ops@example.com", "Re: Declared: [SEV-1] INC-77 checkout is down", "Thanks, noted.")
        receive(admin, "sam.ops@example.com", "[SEV-2] INC-78 printing is down", "I am on it.")  # who needn't be told
        receive(admin, "ops@example.com", "Re: [SEV-1] INC-77 checkout is down", "INC-77 is closed.")
        await evaluator.say(turn(3))
        notices = admin.email.query(folder="sent", sort_by="sent_at", sort_order="asc")["emails"]
        assert [mail["subject"].split(":")[0] for mail in notices] == ["Declared", "Closed"]
        assert len(said(admin)) == 2


async def test_a_turn_that_is_played_again_is_played_in_full(agent: str, admin: UESClient) -> None:
    receive(admin, "bob@example.com", "Slides", "Could you send me the slides by Friday?")
    async with Evaluator(agent) as evaluator:
        await begin(evaluator, admin)
        before = admin.simulation.checkpoint()
        first = await evaluator.say(turn(1))
        admin.simulation.restore(before)
        assert said(admin) == []
        again = await evaluator.say(turn(1, attempt=2))
        assert first.answer == again.answer
        assert len(said(admin)) == 1


async def test_a_simulator_that_is_gone_fails_the_turn_with_a_sentence(agent: str) -> None:
    async with Evaluator(agent) as evaluator:
        await evaluator.say(start(ues_url="http://127.0.0.1:9"))
        heard = await evaluator.say(turn(1))
        assert heard.state == "failed"
        assert says("http://127.0.0.1:9").within(heard.sentence)
