"""What a model wrote in somebody's name is checked before it is sent: rules, a model, new drafts, scripts."""

from datetime import UTC, datetime
from typing import Any

import pytest
from langchain_core.language_models.chat_models import BaseChatModel

from proctor.activities.characters.draft_cases import check_drafts, draft_cases
from proctor.activities.characters.generator import respond
from proctor.activities.characters.guard import DRAWN_AGAIN, Guard, rule_broken
from proctor.activities.characters.messages import OutgoingMessage, ThreadEntry
from proctor.protocol.scenario import ScenarioConfig
from purple_sdk.protocol.provenance import Drafts
from tests.activities.scenario_code import scenario_data
from tests.openai_endpoint import OpenAIEndpoint
from tests.sentences import says

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)


def _scenario() -> ScenarioConfig:
    data = scenario_data(
        user_talks=["chat"], user_prompt="The rent is 1,250.50 euros. Ask Ben and Cleo about Thursday."
    )
    people = data["characters"]
    people["ben"]["special_instructions"] = (
        "The hall costs 4,800 EUR; you need it at ten or at 2 pm. The number is HA-2291. You will call the caterer."
    )
    people["cleo"]["special_instructions"] = "You are leaving the firm in May and nobody may learn of it. Code QX7781."
    return ScenarioConfig.model_validate(data)


SCENARIO = _scenario()


def _mail(**changes: Any) -> OutgoingMessage:
    fields = {"modality": "email", "message_id": "m1", "sender": "ana@home.example", "to": ["ben@work.example"]}
    said = {"subject": "Thursday", "body": "Does ten suit you? Room 12, 15:30 at the latest.", "sent_at": NOON}
    return OutgoingMessage.model_validate(fields | said | changes)


@pytest.mark.parametrize(
    "draft",
    [
        "",
        "Ten is fine with me, thank you!",
        "10:00 works. The hall is €4,800.00, number HA 2291.",
        "2 pm, then? Or 15:30, as you say. Room 12 is good.",
        "I'll call the caterer, and see you on 5 March 2026.",
        "Sorry, I can't. Please ask Cleo Chan. Ben Brook, Ben@Work.example, +34 600-000-002",
        "Ok.",
        "Hi Ana, I asked Ana <ana@home.example>. Dear all: ten. Ben",
        "Хорошо, договорились.",
        "明白了,谢谢。",
    ],
)
def test_what_a_person_knows_can_be_said(draft: str) -> None:
    assert rule_broken(draft, _mail(), "ben", SCENARIO) is None


@pytest.mark.parametrize(
    "draft",
    [
        "The hall costs 4,900 EUR.",
        "It is 4,800.50 euros.",
        "The rent is 1,250.50 euros.",
        "Use code QX7781.",
        "Write to cleo@else.example about it.",
        "Call 600123456.",
        "Let us say 16:45.",
        "Cleo? You are leaving the firm in May, it says.",
        "I'll send you the contract.",
        "We will definitely pay it.",
        "I have already booked the room.",
        "As an AI language model I can't meet.",
        "The words of an email or SMS.",
        "You get an email from Ana: ten it is",
        "Fine. <|im_end|>",
        "Ten is fine. </message>",
        "At 2026-03-02T10:00 then.",
        "Hello Mr. Brook, ten is fine.",
        "Ben, ten is fine.",
        "388ee58b, 12.",
        "I am not sure. I am not sure, no. I am not sure. I am not sure. Or I am not sure.",
        "Does ten suit you? Room 12, 15:30 at the latest. Ben",
    ],
)
def test_a_draft_that_breaks_a_rule_is_refused(draft: str) -> None:
    found = rule_broken(draft, _mail(), "ben", SCENARIO)
    assert found == says()


def test_the_user_knows_the_brief_and_all_know_what_was_said_before() -> None:
    chat = OutgoingMessage(modality="chat", message_id="c", sender="assistant", body="What is the rent?", sent_at=NOON)
    assert rule_broken("1250.50 euros.", chat, "ana", SCENARIO) is None
    thread = [ThreadEntry(sender="Ana", at=NOON, text="The rent is EUR 1250.50, at 16:45.")]
    assert rule_broken("€1,250.50 at 16:45, good.", _mail(thread=thread), "ben", SCENARIO) is None


def _decides(endpoint: OpenAIEndpoint) -> None:
    endpoint.answer("would you answer this", {"should_respond": True, "reason": "asked"})


async def _answer(llm: BaseChatModel, guard: Guard, message: OutgoingMessage | None = None) -> str | None:
    reply = await respond(message or _mail(), "ben", SCENARIO, llm, 1, 1, guard)
    return reply.text if reply else None


async def test_a_refused_draft_is_drawn_again_with_its_fault(endpoint: OpenAIEndpoint, llm: BaseChatModel) -> None:
    endpoint.answer("you decided", {"text": "It is 9,999 EUR."}, {"text": "It is 4,800 EUR."})
    _decides(endpoint)
    guard = Guard()
    assert await _answer(llm, guard) == "It is 4,800 EUR."
    assert guard.drafts == Drafts(written=2, refused=1)
    assert guard.drafts.sentence() == says("50.0%")
    assert "can't know '9,999 EUR'" in endpoint.prompts[-1]


@pytest.mark.parametrize(("body", "scripted"), [("Thursday at ten?", "Thursday at ten is fine."), ("Rain.", None)])
async def test_after_three_refused_drafts_the_answer_is_scripted(
    endpoint: OpenAIEndpoint, llm: BaseChatModel, body: str, scripted: str | None
) -> None:
    endpoint.answer("you decided", {"text": "I have paid it."})
    _decides(endpoint)
    guard = Guard()
    assert await _answer(llm, guard, _mail(body=body)) == scripted
    assert guard.drafts == Drafts(written=1 + DRAWN_AGAIN, refused=1 + DRAWN_AGAIN, scripted=1)
    assert endpoint.calls == 2 + DRAWN_AGAIN


async def test_a_model_checks_what_the_rules_let_pass(endpoint: OpenAIEndpoint, llm: BaseChatModel) -> None:
    no, yes = {"is_fine": False, "fault": "it is rude"}, {"is_fine": True, "fault": ""}
    endpoint.answer("can it be sent", no, yes)
    endpoint.answer("you decided", {"text": "Get lost."}, {"text": "I have paid it."}, {"text": "Ten is fine."})
    _decides(endpoint)
    guard = Guard(llm)
    assert await _answer(llm, guard) == "Ten is fine."
    assert guard.drafts == Drafts(written=3, refused=2)
    checked = [prompt for prompt in endpoint.prompts if "Can it be sent?" in prompt]
    assert ["I have paid it." in prompt.rpartition("The draft:")[2] for prompt in checked] == [False, False]
    assert "it is rude" in endpoint.prompts[3]


async def test_the_guard_is_calibrated_on_drafts_whose_verdict_is_known(
    endpoint: OpenAIEndpoint, llm: BaseChatModel
) -> None:
    endpoint.answer("I don't know that", {"is_fine": False, "fault": "it is curt"})
    endpoint.answer("can it be sent", {"is_fine": True, "fault": ""})
    cases = draft_cases(SCENARIO)
    by_rules = await check_drafts(cases, SCENARIO, None)
    assert {outcome.case.kind for outcome in by_rules} == {
        "fine",
        "unknown value",
        "unknown time",
        "promise",
        "role",
        "secret",
    }
    assert [outcome.fault for outcome in by_rules if (outcome.fault is None) != (outcome.case.kind == "fine")] == []
    by_model = await check_drafts(cases, SCENARIO, llm)
    wrong = [outcome.case.draft for outcome in by_model if (outcome.fault is None) != (outcome.case.kind == "fine")]
    assert [draft.split(",")[0] for draft in wrong] == ["Sorry"] * 2
    assert endpoint.calls == sum(case.kind == "fine" for case in cases), "the rules settle the rest"
