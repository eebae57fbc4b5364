"""Let a model find facts in texts, in place of the patterns of ``proctor.language.facts``.

Each fact becomes a rubric item that is judged on one text, with quotes. All facts about one text form one question.
"""

import asyncio
from collections.abc import Sequence
from typing import Any

from proctor.activities.judging.model_judge import vote
from proctor.activities.judging.panel import Judge
from proctor.activities.judging.records import Record, windows
from proctor.activities.models.factory import ModelAnswerError
from proctor.activities.scenario_code.facts_asked import FactAsked, FactsAsked
from proctor.language.facts import Answer
from proctor.protocol.scenario import EvaluationCriterion, RubricItem
from purple_sdk.processes.together import do_all

_FACTS_AT_ONCE = 30
_AT_ONCE = 4


async def read_facts(asked: FactsAsked, user_prompt: str, judges: Sequence[Judge], window: int) -> list[Answer]:
    """Decide for each text whether it states each of its requested facts.

    Args:
        asked: the facts, and the texts.
        user_prompt: the user's task for the participant.
        judges: one or more; the majority counts.
        window: how many characters a model reads at once.

    Returns:
        An answer for each of ``asked.facts``, in order. An answer is None if the judges' answers aren't credible, or if
        they tie.

    Raises:
        ModelUnavailableError, ModelSettingsError: a model can't be called.
    """
    answers: list[Answer] = [None] * len(asked.facts)
    places = asyncio.Semaphore(_AT_ONCE)

    async def one(text: str, numbers: Sequence[int]) -> None:
        async with places:
            facts = [asked.facts[number] for number in numbers]
            for number, answer in zip(numbers, await _answers(text, facts, user_prompt, judges, window), strict=True):
                answers[number] = answer

    groups: dict[int, list[int]] = {}
    for number, fact in enumerate(asked.facts):
        groups.setdefault(fact.text, []).append(number)
    await do_all(
        *(
            one(asked.texts[text], numbers[begin : begin + _FACTS_AT_ONCE])
            for text, numbers in groups.items()
            for begin in range(0, len(numbers), _FACTS_AT_ONCE)
        )
    )
    return answers


async def _answers(
    text: str, facts: Sequence[FactAsked], user_prompt: str, judges: Sequence[Judge], window: int
) -> list[Answer]:
    votes = await do_all(*(_vote(text, facts, user_prompt, judge, window) for judge in judges))
    return [_majority([vote[place] for vote in votes]) for place in range(len(facts))]


async def _vote(text: str, facts: Sequence[FactAsked], user_prompt: str, judge: Judge, window: int) -> list[Answer]:
    evidence = windows([Record("w1", "writing", text, sender="assistant")], window)
    ids = tuple(fact.id for fact in facts)
    try:
        ballot = await vote(criterion_of_facts(facts), ids, user_prompt, evidence, judge.llm, judge.name)
    except ModelAnswerError:
        return [None] * len(facts)
    return [bool(item.points) for item in ballot.items]


def criterion_of_facts(facts: Sequence[FactAsked]) -> EvaluationCriterion:
    """Return the question about one text as a criterion: an item of one point for each fact."""
    items: list[Any] = [RubricItem(id=fact.id, points=1, statement=fact.statement) for fact in facts]
    return EvaluationCriterion(
        criterion_id="facts",
        name="What a text says",
        description="One text that the assistant wrote.",
        dimension="accuracy",
        max_score=len(items),
        evaluation_prompt=(
            "Each item is a statement about this one text. It has its point when the text clearly says so itself, and "
            "none when the text says otherwise, says nothing of it, or only asks, hopes, plans or repeats hearsay."
        ),
        rubric=items,
    )


def _majority(votes: Sequence[Answer]) -> Answer:
    yes, no = votes.count(True), votes.count(False)
    return None if yes == no else yes > no
