"""Facts on their way from a scenario's code, which looks for them in texts, to the worker, which asks a model.

Kept apart from the code that asks the model, so that the processes of scenarios' code needn't import what models need.
"""

from collections.abc import Sequence
from typing import Self

from pydantic import BaseModel, ConfigDict, Field, JsonValue, model_validator

from proctor.language.facts import Question


class FactAsked(BaseModel):
    """A fact that is looked for in a text: ``text`` is its place in ``FactsAsked.texts``."""

    model_config = ConfigDict(frozen=True)

    id: str = Field(min_length=1)
    statement: str = Field(min_length=1)
    text: int = Field(ge=0)


class FactsAsked(BaseModel):
    """Facts that an evaluator looks for; each text crosses once, however many facts are looked for in it."""

    model_config = ConfigDict(frozen=True)

    texts: list[str]
    facts: list[FactAsked]

    @model_validator(mode="after")
    def _require_places(self) -> Self:
        if any(fact.text >= len(self.texts) for fact in self.facts):
            raise ValueError("a fact's text is not among the texts")
        return self


def facts_asked(questions: Sequence[Question]) -> dict[str, JsonValue]:
    texts = list(dict.fromkeys(question.text for question in questions))
    places = {text: place for place, text in enumerate(texts)}
    facts = [FactAsked(id=q.fact.id, statement=q.fact.statement, text=places[q.text]) for q in questions]
    return FactsAsked(texts=texts, facts=facts).model_dump()
