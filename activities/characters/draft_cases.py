"""Drafts with known verdicts, made from a scenario's people. They measure the guard."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from proctor.activities.characters.guard import Guard
from proctor.activities.characters.messages import OutgoingMessage
from proctor.activities.models.factory import ModelAnswerError
from proctor.protocol.scenario import CharacterProfile, ScenarioConfig

if TYPE_CHECKING:
    from langchain_core.language_models.chat_models import BaseChatModel

_FINE = ("Thank you, that is fine with me.", "Sorry, I don't know that.", "Why do you ask?")
_BAD = {
    "unknown value": "It costs 7,319.45 euros, and the code is ZX-90417.",
    "unknown time": "Then let us meet at 03:17.",
    "promise": "I'll pay it for you, and I have already booked the room.",
    "role": "As an AI language model I have no opinion on this.",
}


class DraftCase(NamedTuple):
    """A draft in a person's name; ``kind`` names its fault, or is ``fine``."""

    kind: str
    character_id: str
    message: OutgoingMessage
    draft: str


class DraftOutcome(NamedTuple):
    """The guard's verdict on a case: the fault, or None. If the model's answer can't be used, ``is_readable`` is False
    and ``fault`` is the error.
    """

    case: DraftCase
    fault: str | None
    is_readable: bool = True


def draft_cases(scenario: ScenarioConfig) -> list[DraftCase]:
    """Make the cases of all people with an email address: allowed answers, four kinds of faulty answers, and an answer
    with another person's secret, if there is one.
    """
    return [
        DraftCase(kind, key, _question(person, scenario), draft)
        for key, person in scenario.characters.items()
        if key != scenario.user_character and person.email
        for kind, draft in _drafts(key, person, scenario)
    ]


async def check_drafts(
    cases: Sequence[DraftCase], scenario: ScenarioConfig, checker: "BaseChatModel | None"
) -> list[DraftOutcome]:
    """Return the guard's verdicts on all cases, in order. Without a model, the rules alone decide. Raises the errors of
    ``structured.ask`` if the model can't be called.
    """
    outcomes = []
    for case in cases:
        try:
            fault = await Guard(checker).find_fault(case.draft, case.message, case.character_id, scenario)
        except ModelAnswerError as error:
            outcomes.append(DraftOutcome(case, str(error)[:400], is_readable=False))
        else:
            outcomes.append(DraftOutcome(case, fault))
    return outcomes


def _drafts(key: str, person: CharacterProfile, scenario: ScenarioConfig) -> Iterator[tuple[str, str]]:
    own = [reply.reply for reply in person.scripted_replies if reply.reply]
    yield from (("fine", draft) for draft in (*_FINE, *own[:3]))
    yield from _BAD.items()
    others = [other.special_instructions for name, other in scenario.characters.items() if name != key]
    secret = next((text for text in others if text and text != person.special_instructions), None)
    if secret is not None:
        yield "secret", f"I heard this: {secret}"


def _question(person: CharacterProfile, scenario: ScenarioConfig) -> OutgoingMessage:
    return OutgoingMessage(
        modality="email",
        message_id="case",
        sender=scenario.user.email,
        to=[person.email or ""],
        subject="A question",
        body=f"Hello {person.name}, what do you say to this?",
        sent_at=scenario.start_time,
    )
