"""Messages from a scenario's code to the worker: the code looks for facts in texts, and the worker calls a model.

They are separate from the code that calls the model, so scenarios' processes needn't import the models' libraries.
"""

from collections.abc import Sequence
from typing import Self

from pydantic import BaseModel, ConfigDict, Field, JsonValue, model_validator

from proctor.language.facts import Question


class FactAsked(BaseModel):
    """A fact to look for in a text; ``text`` is the text's place in ``FactsAsked.texts``."""

    model_config = ConfigDict(frozen=True)

    id: str = Field(min_length=1)
    statement: str = Field(min_length=1)
    text: int = Field(ge=0)


class FactsAsked(BaseModel):
    """Facts that an evaluator looks for. Each text is sent once, regardless of the number of its facts."""

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
