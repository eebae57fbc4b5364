"""Drafts whose verdict is known, made from a scenario's people: how well the guard tells them apart."""

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
    """A draft in a person's name; ``kind`` says what is wrong with it, ``fine`` that nothing is."""

    kind: str
    character_id: str
    message: OutgoingMessage
    draft: str


class DraftOutcome(NamedTuple):
    """What the guard says of a case: the fault, or None; not ``is_readable`` where its model's answer can't be used."""

    case: DraftCase
    fault: str | None
    is_readable: bool = True


def draft_cases(scenario: ScenarioConfig) -> list[DraftCase]:
    """The cases of everybody who can be written to: what they may say, and what is wrong in four ways or a secret."""
    return [
        DraftCase(kind, key, _question(person, scenario), draft)
        for key, person in scenario.characters.items()
        if key != scenario.user_character and person.email
        for kind, draft in _drafts(key, person, scenario)
    ]


async def check_drafts(
    cases: Sequence[DraftCase], scenario: ScenarioConfig, checker: "BaseChatModel | None"
) -> list[DraftOutcome]:
    """What the guard says of each case, one after the other; by the rules alone without a model. Raises as
    ``structured.ask`` where the model can't be asked.
    """
    outcomes = []
    for case in cases:
        try:
            fault = await Guard(checker).find_fault(case.draft, case.message, case.character_id, scenario)
        except ModelAnswerError as problem:
            outcomes.append(DraftOutcome(case, str(problem)[:400], is_readable=False))
        else:
            outcomes.append(DraftOutcome(case, fault))
    return outcomes


def _drafts(key: str, person: CharacterProfile, scenario: ScenarioConfig) -> Iterator[tuple[str, str]]:
    own = [reply.reply for reply in person.scripted_replies if reply.reply]
    yield from (("fine", draft) for draft in (*_FINE, *own[:3]))
    yield from _BAD.items()
    others = [other.special_instructions for name, other in scenario.characters.items() if name != key]
    secret = next((each for each in others if each and each != person.special_instructions), None)
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
