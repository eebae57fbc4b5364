"""People ask back, once in a conversation, where no value can be read in a message that should have one."""

from collections.abc import Iterable, Iterator
from typing import Any

import re2

from proctor_language.reader.mentions import Kind
from scenarios.kit.making.draws import Draws
from scenarios.kit.making.duty import Duty
from scenarios.kit.making.forms import forms
from scenarios.kit.making.people import Person
from scenarios.kit.values import topic_words

_SAY = forms(__file__)
_CALLED: dict[Kind, str] = {
    "amount": "amount",
    "time": "time",
    "moment": "time",
    "span": "time",
    "day": "day",
    "number": "number",
    "code": "number",
}
"""Kinds of values that somebody can miss, and what people call them."""

_NOT_MEANT = (
    r"n't\b|\b(not|never|no|none|nothing|unable|sorry|confidential|thanks?|thank you|nicht|kein\w*|leider|danke|dank)\b"
)
"""A message that refuses, or thanks, lacks nothing."""


def asking_back(person: Person, duties: Iterable[Duty], draws: Draws) -> Iterator[dict[str, Any]]:
    """The scripted replies (``ScriptedReply``) by which somebody of a day asks back.

    Who asked for values (``Duty.asked``) misses them in a message on the matter, and says which kind it is where they
    asked for one. The truth plays no part in it. Everybody misses a value in a message on any of the day's matters that
    have some, and says only that they don't understand. So an answer never tells what would be right, or for whom.
    """
    duties = list(duties)
    for duty in duties:
        if kinds := duty.asked.get(person.key):
            called = {_CALLED[kind] for kind in kinds}
            own = (record.title for record in duty.records if record.author == person)
            topics = [*(act.topic for act in duty.acts), *own]
            yield from _replies(person, topics, kinds, called.pop() if len(called) == 1 else "puzzled", draws)
    acts = (
        act for duty in duties for act in duty.acts if act.values and {v.kind for v in act.values} <= _CALLED.keys()
    )
    yield from _replies(person, [act.topic for act in acts], _CALLED, "puzzled", draws)


def _replies(
    person: Person, topics: Iterable[str], kinds: Iterable[Kind], form: str, draws: Draws
) -> Iterator[dict[str, Any]]:
    words = sorted({word for topic in topics for word in topic_words(topic)})
    if not words:
        return
    yield {
        "pattern": rf"\b({'|'.join(map(re2.escape, words))})",
        "none": [{"pattern": _NOT_MEANT}, *({"value": kind} for kind in sorted(kinds))],
        "reply": draws.pick(_SAY[f"{person.language}.{form}"], "asks back", person.key, form),
        "again": "",
    }
