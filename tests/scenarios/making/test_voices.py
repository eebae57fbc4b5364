"""Speech acts: each renders in each style and language, says its slots, and hardly ever repeats a sentence."""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from itertools import combinations
from math import log
from statistics import median
from typing import get_args

import pytest

from proctor.scenarios.kit.making.draws import Draws
from proctor.scenarios.kit.making.people import Language, Person, Style
from proctor.scenarios.kit.making.records import Record
from proctor.scenarios.kit.making.voices import (
    ACTS,
    SERVICE,
    STYLES,
    clock,
    day,
    grammar,
    money,
    parse,
    phrase,
    write,
)
from tests.work import NIGHTLY

ANNA = Person("anna", "Anna", "Weber", "anna@corlin.example", None, "planner", "Corlin Maps", "colleague", "formal")
PRIYA = Person("user", "Priya", "Raman", "priya@corlin.example", None, "editor", "Corlin Maps", "self", "formal")
LANGUAGES: tuple[Language, ...] = get_args(Language)
NOON = datetime(2027, 5, 12, 14, 0, tzinfo=UTC)  # a Wednesday


def slots_of(act: str) -> dict[str, str]:
    """A value for each slot of the act, which no style would leave alone if it touched it."""
    return {slot: f"the {slot} you're because-of 4.7/{slot.upper()}" for slot in ACTS[act]}


def author(style: Style, language: Language = "en") -> Person:
    return replace(ANNA, style=style, language=language)


def grams(body: str) -> set[tuple[str, ...]]:
    words = body.split()
    return {tuple(words[place : place + 8]) for place in range(len(words) - 7)}


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("act", ACTS)
def test_each_act_says_its_slots_in_each_style(act: str, language: Language) -> None:
    slots = slots_of(act)
    writers = [author(style, language) for style in STYLES]
    services = [replace(writer, role=SERVICE, relation="vendor") for writer in writers]
    friends = [replace(writer, relation="friend", organisation="") for writer in writers]
    for seed, writer in enumerate([*writers, *services, *friends] * (6 if NIGHTLY else 2)):
        text = write(Draws("slots", seed), act, writer, PRIYA, slots)
        assert [value for value in slots.values() if value not in text.body] == []
        rest = f"{text.subject}\n{text.body}"
        for value in slots.values():
            rest = rest.replace(value, "")
        assert not re.search(r"[{}|<>@_]", rest), rest
        assert text.subject


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_form_of_the_grammar_can_be_read(language: Language) -> None:
    for table in ("lexicon", *ACTS):
        for forms in grammar(language)[table].values():
            for form in forms:
                parse(form, language)


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("act", ACTS)
def test_a_sentence_does_not_begin_with_a_noun_phrase(act: str, language: Language) -> None:
    """Its value begins with a small letter, and stays as it is. Terse authors write in fragments."""
    begin = re.compile(r"(?:^|[.!?] )[<](thing|topic|task|document|item|options|place|when|until|route)[>](?! /)")
    table = grammar(language)[act]
    forms = [form for key, forms in table.items() if key not in ("subject", "terse") for form in forms]
    if act not in ("delivery_notice", "order_confirmed"):
        assert [form for form in forms if begin.search(form)] == []


@pytest.mark.parametrize("language", LANGUAGES)
def test_two_seeds_share_at_most_a_tenth_of_their_eight_word_sequences(language: Language) -> None:
    """Even with the same author, reader and slots."""
    medians = {}
    for act in ACTS:
        slots, shares = {slot: f"this {slot}" for slot in ACTS[act]}, []
        for style in STYLES:
            mails = [
                grams(write(Draws("grams", seed), act, author(style, language), PRIYA, slots).body)
                for seed in range(5 if NIGHTLY else 3)
            ]
            shares += [len(one & two) / min(len(one), len(two)) for one, two in combinations(mails, 2) if one and two]
        medians[act] = median(shares or [0.0])
    assert {act: share for act, share in medians.items() if share > 0.1} == {}


def test_a_text_depends_on_its_draws_alone() -> None:
    first, again, other = (write(Draws("same", n), "ask_fact", ANNA, PRIYA, {"thing": "the code"}) for n in (1, 1, 2))
    assert first == again
    assert first != other


LEARNED = 6 if NIGHTLY else 3
"""Seeds that the reader of styles learns from."""


def words_of(style: Style, language: Language, seeds: range) -> list[list[str]]:
    """The words of mails of all acts."""
    texts = (
        write(Draws("apart", act, seed), act, author(style, language), PRIYA, slots_of(act)).body
        for act in ACTS
        for seed in seeds
    )
    return [re.findall(r"\w+|[^\w\s]+|\n\n", text) for text in texts]


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_reader_who_has_seen_each_style_recognises_it(language: Language) -> None:
    """Naive Bayes over words, learned from other seeds."""
    counts = {
        style: Counter(word for mail in words_of(style, language, range(LEARNED)) for word in mail) for style in STYLES
    }
    totals = {style: sum(counter.values()) for style, counter in counts.items()}

    def guess(mail: list[str]) -> Style:
        return max(STYLES, key=lambda style: sum(log((counts[style][w] + 0.1) / (totals[style] + 500)) for w in mail))

    for style in STYLES:
        guesses = Counter(guess(mail) for mail in words_of(style, language, range(LEARNED, LEARNED + 2)))
        assert guesses[style] >= 0.85 * guesses.total(), guesses


@pytest.mark.parametrize("language", LANGUAGES)
def test_styles_differ_in_length_and_manner(language: Language) -> None:
    bodies = {
        style: [
            write(Draws("styles", act, seed), act, author(style, language), PRIYA, slots_of(act)).body
            for act in ACTS
            for seed in range(3)
        ]
        for style in STYLES
    }
    lengths = {style: median(len(body.split()) for body in texts) for style, texts in bodies.items()}
    assert lengths["terse"] < lengths["careless"] < min(lengths["chatty"], lengths["warm"])
    contracted = r"\b(?:I'm|don't|can't|it's|isn't)(?! because)"
    assert not re.search(contracted, "".join(bodies["formal"]).replace("you're because", ""))
    assert sum(body.count("!") for body in bodies["chatty"]) > 3 * sum(body.count("!") for body in bodies["formal"])
    starts = [body.split("\n\n")[1][0].islower() for body in bodies["careless"]]
    assert sum(starts) > len(starts) / 3


def test_german_authors_address_friends_and_strangers_differently() -> None:
    formal = author("formal", "de")
    friend = replace(formal, relation="friend", organisation="")
    polite = [write(Draws("de", n), "thank", formal, PRIYA, {"thing": "der Kuchen"}).body for n in range(20)]
    familiar = [write(Draws("de", n), "thank", friend, PRIYA, {"thing": "der Kuchen"}).body for n in range(20)]
    assert not re.search(r"\b(?:du|dir|dich|dein)\b", " ".join(polite))
    assert not re.search(r"\b(?:Ihnen|Ihre|Ihrer)\b", " ".join(familiar))


def test_an_answer_keeps_the_subject_and_quotes_the_mail() -> None:
    asked = write(Draws("asked"), "ask_fact", PRIYA, ANNA, {"thing": "the door code"})
    mail = Record("m1", "mail", NOON, PRIYA, (ANNA,), asked.subject, asked.body)
    slots = {"thing": "the door code", "value": "4711"}
    answers = {
        style: write(Draws("answer"), "answer_fact", author(style), PRIYA, slots, reply_to=mail) for style in STYLES
    }
    assert {text.subject for text in answers.values()} == {f"Re: {asked.subject}"}
    assert "> " in answers["chatty"].body
    assert "From: Priya Raman\nSent: " in answers["formal"].body
    assert "Priya Raman" not in answers["terse"].body


def test_a_text_message_needs_no_greeting_and_no_signature() -> None:
    text = write(
        Draws("sms"), "state_fact", author("warm"), PRIYA, {"thing": "it", "value": "4711"}, greet=False, sign=False
    )
    assert "Anna" not in text.body
    assert "Priya" not in text.body
    assert "\n" not in text.body


@pytest.mark.parametrize(
    ("act", "slots", "problem"),
    [
        ("ask_facts", {}, "unknown speech act: ask_facts"),
        ("answer_fact", {"thing": "it"}, "answer_fact: missing slots: value"),
        ("answer_fact", {"thing": "it", "value": ""}, "answer_fact: missing slots: value"),
        ("ask_fact", {"thing": "it", "valeu": "x"}, "ask_fact: unknown slots: valeu"),
    ],
)
def test_a_wrong_act_or_slot_is_named(act: str, slots: dict[str, str], problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        write(Draws("bad"), act, ANNA, PRIYA, slots)


def test_a_form_with_a_stray_brace_or_an_unknown_rule_is_refused() -> None:
    for form in ("{a|b", "a}", "a|b", "@no_such_rule"):
        with pytest.raises(ValueError):
            parse(form, "en")


def test_days_and_times_are_written_as_styles_do() -> None:
    assert len({day(NOON, style, language) for style in STYLES for language in LANGUAGES}) >= 9
    assert day(NOON, "terse") == "Wed 12 May"
    assert day(NOON, "formal") == "Wednesday, 12 May 2027"
    assert clock(NOON, "warm") == "Wednesday, 12 May at 2 pm"
    assert clock(NOON, "chatty", "de") == "Mittwoch, 12. Mai um 14 Uhr"


def test_amounts_are_written_as_languages_do() -> None:
    assert money(123450, "EUR", "chatty") == "€1,234.50"
    assert money(123450, "EUR", "formal", "de") == "1.234,50 EUR"
    assert money(123450, "GBP", "careless") == "1234.50 gbp"


def test_phrases_of_the_lexicon_vary() -> None:
    def twenty() -> Iterator[str]:
        return (phrase(Draws("phrase", number), "work_thing") for number in range(20))

    assert list(twenty()) == list(twenty())
    assert len(set(twenty())) > 15
