"""How the simulator's answers are read."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Annotated, Any, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, create_model
from pydantic_core import from_json

from proctor_protocol._wire import WHEN_USED

Json = dict[str, Any]

Instant = Annotated[datetime, AfterValidator(lambda time: time if time.tzinfo else time.replace(tzinfo=UTC))]
"""An instant, always aware: the contract reads a naive one as UTC."""


def json_object(body: bytes) -> Json:
    """Read a JSON object.

    Raises:
        ValueError: something else.
    """
    answer = from_json(body)
    if not isinstance(answer, dict):
        raise ValueError(f"expected a JSON object, got {type(answer).__name__}")
    return answer


def raw(body: bytes) -> bytes:
    """Take a body as it is."""
    return body


class UESAnswer(BaseModel):
    """A frozen answer; fields that a newer server adds are kept."""

    model_config = ConfigDict(frozen=True, extra="allow", defer_build=WHEN_USED)

    @classmethod
    def read(cls, body: bytes) -> Self:
        """Read the answer from a body.

        Raises:
            pydantic.ValidationError: it doesn't fit.
        """
        return cls.model_validate_json(body)


class ActionOutcome(UESAnswer):
    """The answer to an action; ``status`` is ``executed`` or ``failed``."""

    status: str

    @property
    def succeeded(self) -> bool:
        """Whether the action was carried out."""
        return self.status == "executed"


def answer_models(table: Mapping[str, Any], module: str) -> dict[str, type[UESAnswer]]:
    """The models of a table, as ``answers.json`` has them, by name. A model's fields may name those before it."""
    models: dict[str, type[UESAnswer]] = {"UESAnswer": UESAnswer, "ActionOutcome": ActionOutcome}
    names: dict[str, Any] = {"Instant": Instant, "Json": Json, **models}
    for name, model in table.items():
        # Tables are part of this package: the generator writes them.
        declared = model["fields"].items()
        fields: dict[str, Any] = {field: (eval(each["type"], names), _field(each)) for field, each in declared}
        base: Any = models[model["base"]]
        models[name] = names[name] = create_model(
            name, __base__=base, __module__=module, __doc__=model["doc"], **fields
        )
    return models


def _field(declared: Mapping[str, Any]) -> Any:
    has_repr = not declared.get("is_secret")
    return Field(declared.get("default", ...), repr=has_repr, description=declared.get("description"))
