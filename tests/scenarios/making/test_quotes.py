"""Quotes in messages: to the user they are news, and what is struck out or quoted to its own author says nothing."""

import asyncio

import pytest

from proctor.local.audit.plays import Outcome, Stage, make_player, make_request, perform
from proctor.scenarios.kit.making.days import Day, make_day
from proctor.scenarios.kit.making.duty import Act
from proctor.scenarios.kit.making.wording import show
from purple_sdk.ues import AsyncUESClient
from tests.stack import SCENARIOS


def played(stage: Stage, act: Act, form: str) -> Outcome:
    """The oracle, which says the words of one act in another form; ``{}`` is where they stand."""

    async def do(each: Act, day: Day, client: AsyncUESClient, voice: int = 0) -> None:
        if each.id != act.id:
            await perform(each, day, client, voice)
            return
        action, fields = make_request(each, day)
        if action == "chat.send_message":
            await client.chat.send(role="assistant", content=form.format(fields["content"].replace("\n", "\n> ")))
            return
        is_html = form.startswith("<")
        body = form.format(" ".join(fields["body_text"].split()) if is_html else fields["body_text"])
        html = body if is_html else None
        to, subject = fields["to_addresses"], fields["subject"]
        await client.email.send(to_addresses=to, subject=subject, body_text="" if html else body, body_html=html)

    acts = [planned_act for duty in stage.day.duties for planned_act in duty.acts]
    return asyncio.run(stage.play(make_player(acts, stage.day, do=do)))


@pytest.mark.parametrize(
    ("form", "holds"), [("<p>{}</p>", True), ("<p><s>{}</s></p>", False), ("<del>{}</del>", False)]
)
def test_what_is_struck_out_in_html_is_not_said(form: str, holds: bool) -> None:
    stage = Stage(make_day(SCENARIOS / "families" / "inbox_flood", 1, 2))
    act = next(act for duty in stage.day.duties for act in duty.acts if act.action == "tell" and act.channel == "mail")

    assert played(stage, act, form).held[act.checks[0]] is holds


def test_what_is_quoted_to_the_user_is_told() -> None:
    stage = Stage(make_day(SCENARIOS / "families" / "quiet_day", 1, 2))
    act = next(act for duty in stage.day.duties for act in duty.acts if act.action == "tell" and act.channel == "chat")

    assert played(stage, act, "A mail says:\n> {}").held[act.checks[0]]


@pytest.mark.parametrize("has_written", [True, False])
def test_a_part_of_a_line_that_its_reader_wrote_is_a_quote(has_written: bool) -> None:
    day = make_day(SCENARIOS / "families" / "inbox_flood", 1, 2)
    act = next(act for duty in day.duties for act in duty.acts if act.action == "tell" and act.channel == "mail")
    assert act.to is not None
    said = f"it is {show(act.values[0])} for {act.topic}, which I can hardly believe"
    if has_written:
        day.extra_records.append(day.mail("heard", day.ago("heard"), act.to, "Hm", f"Somebody told me that {said}."))

    assert played(Stage(day), act, f"Hello!\n> {said}\nSo far your mail.").held[act.checks[0]] is not has_written
