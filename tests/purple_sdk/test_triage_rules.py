"""The rules of the baseline, on mail that stands in no scenario."""

from datetime import UTC, datetime
from typing import Any

import pytest

from purple_sdk.examples.triage_agent.agent import Judged, summary
from purple_sdk.examples.triage_agent.orders import read_orders
from purple_sdk.examples.triage_agent.rules import Acquaintances, Verdict, classify
from tests.sentences import says

NOW = datetime(2026, 3, 4, 9, tzinfo=UTC)  # a Wednesday
KNOWN = Acquaintances(
    "me.walker@acme.example", private=frozenset({"jo@hill.example"}), familiar=frozenset({"kim@client.example"})
)

ORDERS = """Please keep my mailbox in order. Label every mail:
- now: must be done today
- reply: I have to answer
- info: good to know
- private: family and friends
- junk: advertising. Archive the junk.

Write me at most 80 words an hour. Star private mail that is pressing.

If an incident comes up, tell Sam (sam.ops@acme.example)."""


def mail(sender: str, subject: str, body: str = "", **more: Any) -> dict[str, Any]:
    return {
        "message_id": subject,
        "thread_id": subject,
        "from_address": sender,
        "to_addresses": ["me@acme.example"],
        "subject": subject,
        "body_text": body,
    } | more


@pytest.mark.parametrize(
    ("sender", "subject", "body", "category"),
    [
        ("newsletter@shop.example", "Spring sale: 40% off", "Unsubscribe here.", "noise"),
        ("anna@leadgrow.example", "Quick question", "Do you have 15 minutes for a call? We help teams grow.", "noise"),
        ("prize@winner.example", "URGENT: you have won", "Claim your prize today!", "noise"),
        ("it-support@acme-help.example", "Password", "Hello", "noise"),
        ("ceo@acrne.example", "Are you free?", "I need a transfer today.", "noise"),
        ("ceo@acme.exarnple", "Are you free?", "I need a transfer today.", "noise"),
        ("no-reply@acme.example", "Nightly backup", "All jobs passed.", "noise"),
        ("jo@hill.example", "Dinner", "See you at eight", "personal"),
        ("someone@gmail.com", "Saturday", "Shall we?", "personal"),
        ("reception@oakdental.example", "Reminder", "Your appointment with the dentist is on Friday.", "personal"),
        ("ops@acme.example", "SEV-1: checkout is down", "All hands.", "urgent"),
        ("ops@acme.example", "SEV-1: checkout is down", "The incident is closed.", "fyi"),
        ("bob@acme.example", "Slides", "Could you send me the slides by noon?", "urgent"),
        ("bob@acme.example", "Slides", "Could you send me the slides by Wednesday?", "urgent"),
        ("bob@acme.example", "Slides", "Could you send me the slides by Friday?", "action"),
        ("bob@acme.example", "Slides", "Could you send me the slides tomorrow at 10:00?", "action"),
        ("bob@acme.example", "URGENT slides", "No rush: could you look at them next week?", "action"),
        ("bob@acme.example", "Minutes", "Here are the minutes. Nothing for you to do.", "fyi"),
        ("kim@client.example", "Not happy", "Our director wants to end the contract.", "urgent"),
    ],
)
def test_what_a_mail_is(sender: str, subject: str, body: str, category: str) -> None:
    assert classify(mail(sender, subject, body), KNOWN, NOW).category == category


def test_a_deadline_is_quoted() -> None:
    assert classify(mail("bob@acme.example", "Slides", "Please send them by Friday."), KNOWN, NOW).due == "by Friday"
    assert classify(mail("jo@hill.example", "Keys", "Can you call before 5 pm?"), KNOWN, NOW).cannot_wait


def test_orders_are_read_from_plain_text() -> None:
    orders = read_orders(ORDERS)
    assert orders.labels == {"urgent": "now", "action": "reply", "fyi": "info", "personal": "private", "noise": "junk"}
    assert orders.word_limit == 80
    assert orders.archives_noise
    assert orders.stars_private
    assert not orders.marks_read
    assert orders.incident_contact == "sam.ops@acme.example"


def test_orders_that_say_nothing_ask_for_nothing() -> None:
    orders = read_orders("Please look after my mail.")
    assert orders.labels["urgent"] == "urgent"
    assert (orders.archives_noise, orders.marks_read, orders.stars_private) == (False, False, False)
    assert orders.incident_contact is None


def test_a_summary_keeps_to_its_words_and_to_what_may_be_said() -> None:
    verdicts = [
        Verdict("fyi"),
        Verdict("urgent", due="by noon"),
        Verdict("personal"),
        Verdict("noise"),
        Verdict("action"),
    ]
    new = [
        Judged(mail(f"{name}.who@acme.example", f"About {name}", "Please do what we talked about."), verdict)
        for name, verdict in zip(("ann", "ben", "cat", "dan", "eve"), verdicts, strict=True)
    ]
    text = summary(new, read_orders(ORDERS))
    assert [line.split(":")[0] for line in text.splitlines()] == [
        "URGENT",
        "To do",
        "FYI",
        "1 personal",
        "1 noise archived",
    ]
    assert "Ben Who - About ben" in text
    assert "(by noon)" in text
    assert "cat" not in text.lower()
    assert "dan" not in text.lower()
    long = summary(new * 20, read_orders(ORDERS))
    assert len(long.split()) <= 80
    assert says().within(long)
