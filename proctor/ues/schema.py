"""The base models at the boundary: what a caller sends, and what an answer is declared to be.

None of these is storage: a simulation's state is plain JSON-ready data, and these models check what enters it.
"""

from typing import Annotated, Any, Literal, TypeVar

from pydantic import (
    VERSION,
    BaseModel,
    ConfigDict,
    Field,
    GetJsonSchemaHandler,
    GetPydanticSchema,
    ValidationError,
    ValidationInfo,
    model_validator,
)
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import core_schema

from proctor.ues.problems import Invalid
from proctor.ues.times import Instant

_WHEN_USED = tuple(map(int, VERSION.split(".")[:2])) >= (2, 14)
"""``defer_build`` of models, as in ``proctor.protocol``: a simulator uses few, and building all takes a third of its
start. Not with an earlier pydantic, where two threads that are the first to use a model disturb each other.
"""

JsonObject = dict[str, Any]
"""A JSON object: str keys and JSON values all the way down."""


_LEAST, _GREATEST = -(2**63), 2**63 - 1


def _describe_int(schema: core_schema.CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
    """The JSON schema of a whole number: its own bounds, but not those of 64 bits."""
    described = dict(handler(schema))
    if described.get("minimum") == _LEAST:
        del described["minimum"]
    if described.get("maximum") == _GREATEST:
        del described["maximum"]
    return described


Int = Annotated[
    int,
    GetPydanticSchema(
        lambda _source, _handler: core_schema.int_schema(ge=_LEAST, le=_GREATEST),
        _describe_int,
    ),
]
"""A whole number that JSON writers can write. Use it instead of ``int`` in every model of a request or a state:
1e30 is a valid lax int to pydantic, and no encoder could answer it back."""


Secret = Annotated[str, Field(min_length=16, max_length=200, pattern=r"^[!-~]+$")]
"""A key's secret that a caller chooses: printable ASCII without spaces."""


def nullable(description: str) -> Any:
    """A field that may be left out: it is None then."""
    return Field(default=None, description=description)


class Request(BaseModel):
    """What a caller sends. Unknown fields are ignored; NaN and infinities are refused."""

    model_config = ConfigDict(frozen=True, extra="ignore", allow_inf_nan=False, defer_build=_WHEN_USED)


class Response(BaseModel):
    """What an answer looks like. For documentation and clients: answers are built as plain data, not from this."""

    model_config = ConfigDict(frozen=True, extra="allow", defer_build=_WHEN_USED)


FROM_FILE = "a scenario file"
"""The validation context of what a scenario file holds."""


class _InFiles(BaseModel):
    """What a scenario file may hold: a field that is null there is missing (contract: "The scenario file")."""

    @model_validator(mode="before")
    @classmethod
    def _null_is_missing(cls, data: Any, info: ValidationInfo) -> Any:
        if info.context == FROM_FILE and isinstance(data, dict):
            return {name: value for name, value in data.items() if value is not None}
        return data


class StateModel(_InFiles):
    """A modality's state as it is in a scenario file under ``modality_states``. Subclasses add their fields and
    narrow ``modality_type``.
    """

    model_config = ConfigDict(extra="ignore", allow_inf_nan=False, defer_build=_WHEN_USED)

    last_updated: Instant
    update_count: Int = 0


class InputModel(BaseModel):
    """An event's ``data``. Subclasses add the operation's fields and narrow ``modality_type``."""

    model_config = ConfigDict(frozen=True, extra="ignore", allow_inf_nan=False, defer_build=_WHEN_USED)

    timestamp: Instant
    input_id: str = ""


class Record(_InFiles):
    """A part of a state or of an input, such as an attachment."""

    model_config = ConfigDict(extra="ignore", allow_inf_nan=False, defer_build=_WHEN_USED)


class QueryRequest(Request):
    """The paging fields that every query has."""

    limit: Annotated[Int, Field(ge=1, le=1000)] | None = Field(
        default=None, description="Most matches to return, 1 to 1000."
    )
    offset: Annotated[Int, Field(ge=0)] = Field(default=0, description="How many matches to leave out from the start.")
    sort_order: Literal["asc", "desc"] | None = Field(
        default="desc", description="asc (oldest or smallest first) or desc."
    )


class ModalityActionResponse(Response):
    """The answer to every action: the event that it became."""

    event_id: str
    scheduled_time: Instant
    status: str = Field(description="The event's real status: executed or failed.")
    message: str
    modality: str


class ProblemResponse(Response):
    """Every error: ``error`` says which kind, ``detail`` what was wrong and what to do."""

    error: str
    detail: Any


class ValidationProblem(Response):
    """One thing that doesn't fit the schema."""

    type: str
    loc: list[str | int]
    msg: str
    input: Any


class ValidationProblemResponse(Response):
    """A 422 answer."""

    error: str = "Validation Error"
    detail: list[ValidationProblem]


MOST_PROBLEMS = 100
"""The most errors that the answer to a request lists."""


def problems_of(error: ValidationError, *prefix: str | int) -> list[JsonObject]:
    """The contract's ``{type, loc, msg, input}`` of the first errors, their locations set under ``prefix``."""
    return [
        {"type": item["type"], "loc": [*prefix, *item["loc"]], "msg": item["msg"], "input": item["input"]}
        for item in error.errors(include_url=False, include_context=False)[:MOST_PROBLEMS]
    ]


M = TypeVar("M", bound=BaseModel)


def validate(model: type[M], value: Any, *prefix: str | int, context: Any = None) -> M:
    """``value`` as a model. Raises Invalid (422) with locations under ``prefix``."""
    try:
        return model.model_validate(value, context=context)
    except ValidationError as error:
        raise Invalid(problems_of(error, *prefix)) from None


def problem(kind: str, message: str, value: Any, *loc: str | int) -> Invalid:
    """A 422 of one entry, for checks that no model makes: ``kind`` is pydantic's ``type``, ``loc`` the field's path."""
    return Invalid([{"type": kind, "loc": list(loc), "msg": message, "input": value}])
