"""Checks drafts that a model wrote in a person's name.

Rules on exact values and fixed phrases come first, then a model, if one is configured. A refused draft is written again
up to ``DRAWN_AGAIN`` times; then the character answers by its scripted replies.
"""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pydantic import BaseModel

from proctor.activities.characters.messages import OutgoingMessage
from proctor.activities.characters.prompts import check_question, persona, reply_question, written_out
from proctor.activities.models.structured import ask
from proctor.language.patterns import compiled
from proctor.protocol.scenario import CharacterProfile, ScenarioConfig
from purple_sdk.protocol.provenance import Drafts

if TYPE_CHECKING:
    from langchain_core.language_models.chat_models import BaseChatModel

DRAWN_AGAIN = 2
_SHARED_WORDS = 6
"""A shared run of this many words from another person's instructions counts as a disclosed secret."""

_PARROTED = 0.7
"""If at least this share of a draft's runs of ``_SHARED_WORDS`` words comes from the message, the draft is a
repetition.
"""

_NUMBER = r"\d+(?:[.,'’ ]\d{3})*(?:[.,]\d{1,2})?"
_MONEY = rf"(?:[€£$]|\b(?:EUR|USD|GBP))\s?({_NUMBER})|({_NUMBER})\s?(?:[€£$%]|(?:EUR|USD|GBP|euros?|dollars?|pounds)\b)"
_LONG = r"\b\d{4,}\b"
_CODE = r"\b[A-Za-z]{1,6}-?\d{2,}[A-Za-z0-9-]*\b"
_ADDRESS = r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+|https?://\S+|\+\d[\d /-]{6,}\d"
_CLOCK = r"\b(\d{1,2})[:.h](\d\d)\b(?:\s?[ap]\.?m\b)?|\b(\d{1,2})\s?[ap]\.?m\b"
_YEAR = r"\A(?:19|20)\d\d\z"
_OUT_OF_ROLE = (
    r"\b(?:as an AI|AI assistant|language model|system prompt|role[- ]?play|in character|this simulation|untrusted|"
    r"should_respond|json|words of an email|without a subject line|longer than needed|exactly as it is sent|as people "
    r"(?:text|chat))\b"
)
_DEEDS = r"(?:send|call|phone|ring|book|pay|transfer|order|cancel|forward|bring|deliver|prepare|sign|arrange|check)"
_PROMISE = rf"\b(?:I|we)(?:['’]ll| will| shall| am going to| are going to)\s+(?:\w+\s+)?({_DEEDS})\b"
_CLAIM = (
    r"\b(?:I|we)(?:['’]ve| have)\s+(?:just |already |now )?"
    r"(?:sent|called|booked|paid|transferred|ordered|cancelled|canceled|forwarded|attached|signed|arranged)\b|"
    r"\b(?:please find|see) (?:the )?attached\b"
)


class Verdict(BaseModel):
    """What a model says of a draft: whether it can be sent, and in a sentence why not."""

    is_fine: bool
    fault: str


@dataclass
class Guard:
    """Checks the drafts of one answer, and counts them.

    Attributes:
        checker: the model that checks drafts after the rules; if None, only the rules count.
        drafts: the numbers of written and refused drafts so far.
    """

    checker: "BaseChatModel | None" = None
    drafts: Drafts = field(default_factory=Drafts)

    async def find_fault(
        self, draft: str, message: OutgoingMessage, character_id: str, scenario: ScenarioConfig
    ) -> str | None:
        """Check and count a draft. Return a sentence that says why the draft can't be sent, or None if it can. Raises
        the errors of ``structured.ask``.
        """
        fault = rule_broken(draft, message, character_id, scenario)
        if fault is None and self.checker is not None:
            question = check_question(draft, message, scenario, persona(character_id, scenario))
            verdict = await ask(self.checker, CHECKER, question, Verdict)
            fault = None if verdict.is_fine else verdict.fault or "the checking model refuses it"
        self.drafts = self.drafts.add(Drafts(written=1, refused=int(fault is not None)))
        return fault

    def note_scripted(self) -> None:
        """Count an answer from scripted replies, after all drafts were refused."""
        self.drafts = self.drafts.add(Drafts(scripted=1))


CHECKER = (
    "You check a message that a model wrote in the name of a person in a simulation. Refuse it only for one of these "
    "faults: it states a fact that the person can't know from what is written; it says what the person must keep to "
    "itself; it promises or claims an action that the person's instructions don't name; it contradicts what the person "
    "said before; it falls out of role. Opinions, courtesies, questions and refusals are fine."
)
"""The system message of the checking model."""


def rule_broken(draft: str, message: OutgoingMessage, character_id: str, scenario: ScenarioConfig) -> str | None:
    """Return the first rule that a draft breaks, as a sentence; None if it breaks none."""
    if found := compiled(_OUT_OF_ROLE).search(draft):
        return f"it falls out of role: {found.group()!r}"
    person = scenario.characters[character_id]
    known = _collect_known(message, person, scenario, is_user=character_id == scenario.user_character)
    if fault := unlike_a_message(draft, message, character_id, scenario, known):
        return fault
    if unknown := next((value for value in _values(draft) if not _is_known(value, known)), None):
        return f"the person can't know {unknown!r}"
    if unknown := next((at for at, time in _clock(draft) if time not in _all_times(known, scenario)), None):
        return f"the person knows nothing of the time {unknown!r}"
    own_runs = list(runs(draft, _SHARED_WORDS))
    if own_runs and sum(run in joined(message.body) for run in own_runs) >= _PARROTED * len(own_runs):
        return "it repeats the message that it answers"
    others = [other for key, other in scenario.characters.items() if key != character_id]
    if secret := next((run for run in own_runs if run not in known.lower() and _is_secret(run, others)), None):
        return f"it gives away what somebody else knows: {secret!r}"
    return _wrong_promise(draft, person)


def _wrong_promise(draft: str, person: CharacterProfile) -> str | None:
    own = _own_words(person).lower()
    if claim := compiled(_CLAIM).search(draft):
        return None if claim.group().lower() in own else f"it claims what the person did not do: {claim.group()!r}"
    promise = next((match for match in compiled(_PROMISE).finditer(draft) if match.group(1).lower() not in own), None)
    return None if promise is None else f"it promises what the person won't do: {promise.group()!r}"


def _own_words(person: CharacterProfile) -> str:
    replies = [text for reply in person.scripted_replies for text in (reply.reply, reply.again) if text]
    return "\n".join([person.personality, *person.relationships.values(), person.special_instructions or "", *replies])


def _collect_known(
    message: OutgoingMessage, person: CharacterProfile, scenario: ScenarioConfig, *, is_user: bool
) -> str:
    """Return all texts that a person knows when it answers: texts about itself and the user, and the message."""
    user = scenario.user
    addresses = [person.name, person.email, person.phone, user.name, user.email, user.phone]
    earlier = [f"{entry.sender} {entry.at.isoformat()} {entry.text}" for entry in message.thread]
    texts = [_own_words(person), written_out(message), message.sender, message.sent_at.isoformat(), *earlier]
    return "\n".join(filter(None, [*addresses, *texts, scenario.user_prompt if is_user else None]))


def _values(text: str) -> Iterator[str]:
    """Yield the exact values in a text: addresses, amounts, codes, long numbers."""
    rest = text
    for pattern in (_ADDRESS, _MONEY, _CODE, _LONG):
        found = [match.group() for match in compiled(pattern).finditer(rest)]
        yield from (value for value in found if not compiled(_YEAR).search(value))
        rest = compiled(pattern).sub(" ", rest)


def _is_known(value: str, known: str) -> bool:
    if compiled(r"[A-Za-z@:+]").search(value) and not compiled(_MONEY).search(value):
        return _squeeze(value) in _squeeze(known)
    numbers = {_normalize_number(match.group()) for match in compiled(_NUMBER).finditer(known)}
    return all(_normalize_number(match.group()) in numbers for match in compiled(_NUMBER).finditer(value))


def _normalize_number(number: str) -> str:
    """Return a number without separators, and without cents if they are 0."""
    whole = compiled(r"[.,]00?\z").sub("", number)
    cents = compiled(r"[.,]\d{1,2}\z").search(whole)
    end = cents.group()[1:] if cents else ""
    return "".join(filter(str.isdigit, whole[: cents.start()] if cents else whole)) + (f".{end}" if end else "")


def _squeeze(text: str) -> str:
    return "".join(char for char in text.lower() if char.isalnum() or char in "@+")


def _clock(text: str) -> Iterator[tuple[str, tuple[int, int]]]:
    """Yield the clock times in a text: each as it is written, and as hour (of twelve) and minute."""
    for found in compiled(_CLOCK).finditer(text):
        hour, minute, half = found.groups()
        yield found.group(), (int(hour or half) % 12, int(minute or 0))


def _all_times(text: str, scenario: ScenarioConfig) -> set[tuple[int, int]]:
    reading = scenario.read(text)
    spoken = {(named.hour % 12, named.minute) for named in (*reading.moments, *reading.bare_times)}
    iso = {(int(match.group(1)) % 12, int(match.group(2))) for match in compiled(r"T(\d\d):(\d\d)").finditer(text)}
    return spoken | iso | {time for _, time in _clock(text)}


def _is_secret(run: str, others: list[CharacterProfile]) -> bool:
    return any(run in joined(other.special_instructions or "") for other in others)


_FRAME = r"<\||</?[a-z][a-z0-9]*(?:\s[^@>\n]*)?>|\b\d{4}-\d\d-\d\dT\d\d"
"""Markers and tags, and times in machine format."""

_HELLO = r"(?:hi|hello|hey|dear|good (?:morning|afternoon|evening)),?\s+(?:(?:Mr|Ms|Mrs|Dr)\.?\s+)?"
_WORD = r"\pL{2,}"
_OF_VALUES = r"\S*[@\d/]\S*"
_COPIED, _LOOPED, _ROUNDS = 5, 4, 3
"""Limits of copying and repetition: the words of a run copied from the prompt, the words of a repeated run, and the
number of its repetitions.
"""


def unlike_a_message(
    draft: str, message: OutgoingMessage, character_id: str, scenario: ScenarioConfig, known: str
) -> str | None:
    """Return a sentence that says why no person would send a draft; None if the draft has no such fault.

    Args:
        draft: the model's text; it may be empty, like the comment on an invitation.
        message: the message that the draft answers.
        character_id: the character in whose name it was written.
        scenario: the scenario with the people.
        known: texts that the person may quote: its own instructions, and messages to it.
    """
    if found := compiled(_FRAME).search(draft):
        return f"it falls out of role: {found.group()!r}"
    prompt = joined(f"{persona(character_id, scenario)}\n{reply_question(message, scenario, '')}")
    quotable = joined(known)
    if copied := next((run for run in runs(draft, _COPIED) if run in prompt and run not in quotable), None):
        return f"it falls out of role: {copied!r}"
    person = scenario.characters[character_id]
    if message.sender not in (person.email, person.phone) and _greets(draft, person.name):
        return "the person greets themselves"
    if draft.strip() and not compiled(_WORD).search(compiled(_OF_VALUES).sub(" ", draft)):
        return "it has no words"
    if looped := next((run for run, times in Counter(runs(draft, _LOOPED)).items() if times >= _ROUNDS), None):
        return f"it says the same again and again: {looped!r}"
    return None


def _greets(draft: str, name: str) -> bool:
    names = "|".join(re.escape(part) for part in name.split())
    return bool(compiled(rf"\A\W*(?:{_HELLO}(?:{names})(?:\W|\z)|(?:{names})\s*[,:])").search(draft))


def joined(text: str) -> str:
    """Return a text in small letters, with single spaces."""
    return " ".join(text.lower().split())


def runs(text: str, length: int) -> Iterator[str]:
    """Yield all runs of ``length`` words of a text, in small letters."""
    words = text.lower().split()
    return (" ".join(words[at : at + length]) for at in range(len(words) - length + 1))
