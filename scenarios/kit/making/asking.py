"""Scripted replies by which people answer all questions and proposals, if only with "I can't say".

If a message should have a value and none can be read, they ask back, once in a conversation.
"""

from collections.abc import Iterable, Iterator
from typing import Any

import re2

from proctor.language.reader.mentions import Kind
from proctor.scenarios.kit.making.draws import Draws
from proctor.scenarios.kit.making.duty import Duty
from proctor.scenarios.kit.making.forms import forms
from proctor.scenarios.kit.making.people import Person
from proctor.scenarios.kit.values import topic_words

SAY = forms(__file__)
"""The people's sentences, by language and kind of value."""
_CALLED: dict[Kind, str] = {
    "amount": "amount",
    "time": "time",
    "moment": "time",
    "span": "time",
    "day": "day",
    "number": "number",
    "code": "number",
}
"""Kinds of values that a person can miss, with the words for them."""

_NOT_MEANT = (
    r"n't\b|\b(not|never|no|none|nothing|unable|sorry|confidential|thanks?|thank you|nicht|kein\w*|leider|danke|dank)\b"
)
"""Refusals and thanks, in which no value is missing."""

_INVITATION = r"\A[^\n]*\n\d{4}-\d\d-\d\dT"


def asking_back(person: Person, duties: Iterable[Duty], draws: Draws) -> Iterator[dict[str, Any]]:
    """The scripted replies (``ScriptedReply``) by which a person of a day asks back.

    A person who asked for values (``Duty.asked``) misses them in a message on the matter. If they asked for one kind,
    they name it. All people miss a value in a message on any of the day's matters that have values, and say only that
    they don't understand. The replies don't depend on the truth, so an answer never reveals the right value or person.
    """
    duties = list(duties)
    for duty in duties:
        if kinds := duty.asked.get(person.key):
            called = {_CALLED[kind] for kind in kinds}
            own = (record.title for record in duty.records if record.author == person)
            topics = [*(act.topic for act in duty.acts), *own]
            yield from _replies(person, topics, kinds, called.pop() if len(called) == 1 else "puzzled", draws)
    any_kind: set[Kind] = {*_CALLED, "address"}
    having, lacking = list[str](), list[str]()
    for act in (act for duty in duties for act in duty.acts):
        is_about_values = act.values and {value.kind for value in act.values} <= any_kind
        (having if is_about_values else lacking).append(act.topic)
        lacking += [] if is_about_values else map(str, act.values)
    yield from _replies(person, having, any_kind, "puzzled", draws, but=lacking)


def last_word(person: Person, draws: Draws) -> dict[str, Any]:
    """The last of all scripted replies, to any question or proposal: the person can't say.

    It doesn't depend on the truth: all people answer all such messages so.
    """
    return {"asks": True, "none": [_INVITATION], **_cannot_say(person, draws)}


def to_any_time(person: Person, draws: Draws) -> dict[str, Any]:
    """The last scripted reply of a person who takes each named time as a proposal."""
    times: tuple[Kind, ...] = ("moment", "span", "time")
    return {"any": [{"value": kind} for kind in times], "none": [_INVITATION], **_cannot_say(person, draws)}


def _cannot_say(person: Person, draws: Draws) -> dict[str, str]:
    forms = {"reply": "unsure", "again": "still_unsure"}
    return {
        name: draws.pick(SAY[f"{person.language}.{form}"], "asks back", person.key, form)
        for name, form in forms.items()
    }


def _replies(
    person: Person, topics: Iterable[str], kinds: Iterable[Kind], form: str, draws: Draws, *, but: Iterable[str] = ()
) -> Iterator[dict[str, Any]]:
    words, others = ({word for topic in group for word in topic_words(topic)} for group in (topics, but))
    if not words - others:
        return
    reply = {
        "pattern": rf"\b({'|'.join(map(re2.escape, sorted(words - others)))})",
        "none": [{"pattern": _NOT_MEANT}, *({"value": kind} for kind in sorted(kinds))],
        "reply": draws.pick(SAY[f"{person.language}.{form}"], "asks back", person.key, form),
    }
    yield {**reply, "asks": True, "again": _cannot_say(person, draws)["reply"]}
    yield {**reply, "again": ""}
