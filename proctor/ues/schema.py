"""Base models at the boundary, for requests and for declared answers.

They are not storage: a simulation's state is plain JSON-ready data, and these models check data that enters it.
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
"""Whether models are built at their first use, as in ``proctor.protocol``. A simulator uses few models, and building
all of them takes a third of its start. Before pydantic 2.14, two threads that first use a model disturb each other.
"""

JsonObject = dict[str, Any]
"""A JSON object: str keys and JSON values all the way down."""


_LEAST, _GREATEST = -(2**63), 2**63 - 1


def _describe_int(schema: core_schema.CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
    """Return the JSON schema of a whole number with its declared bounds, but without the bounds of 64 bits."""
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
pydantic accepts 1e30 as a lax int, but no encoder can write it in an answer."""


Secret = Annotated[str, Field(min_length=16, max_length=200, pattern=r"^[!-~]+$")]
"""A key's secret chosen by a caller: printable ASCII without spaces."""


def nullable(description: str) -> Any:
    """Declare a field that may be left out; it is then None."""
    return Field(default=None, description=description)


class Request(BaseModel):
    """The base of requests. Unknown fields are ignored; NaN and infinities are refused."""

    model_config = ConfigDict(frozen=True, extra="ignore", allow_inf_nan=False, defer_build=_WHEN_USED)


class Response(BaseModel):
    """The base of declared answers, for documentation and clients. Answers themselves are built as plain data."""

    model_config = ConfigDict(frozen=True, extra="allow", defer_build=_WHEN_USED)


FROM_FILE = "a scenario file"
"""The validation context for data from a scenario file."""


class _InFiles(BaseModel):
    """The base of data in a scenario file: a null field there counts as missing (contract: "The scenario file")."""

    @model_validator(mode="before")
    @classmethod
    def _null_is_missing(cls, data: Any, info: ValidationInfo) -> Any:
        if info.context == FROM_FILE and isinstance(data, dict):
            return {name: value for name, value in data.items() if value is not None}
        return data


class StateModel(_InFiles):
    """A modality's state, as in a scenario file under ``modality_states``. Subclasses add their fields and narrow
    ``modality_type``.
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
    """The answer to a failed request: ``error`` names the kind, ``detail`` the problem and the remedy."""

    error: str
    detail: Any


class ValidationProblem(Response):
    """One violation of the schema."""

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


def convert_errors(error: ValidationError, *prefix: str | int) -> list[JsonObject]:
    """Return the contract's ``{type, loc, msg, input}`` for the first errors, with locations under ``prefix``."""
    return [
        {"type": item["type"], "loc": [*prefix, *item["loc"]], "msg": item["msg"], "input": item["input"]}
        for item in error.errors(include_url=False, include_context=False)[:MOST_PROBLEMS]
    ]


M = TypeVar("M", bound=BaseModel)


def validate(model: type[M], value: Any, *prefix: str | int, context: Any = None) -> M:
    """Validate ``value`` as a model. Raises Invalid (422) with locations under ``prefix``."""
    try:
        return model.model_validate(value, context=context)
    except ValidationError as error:
        raise Invalid(convert_errors(error, *prefix)) from None


def problem(kind: str, message: str, value: Any, *loc: str | int) -> Invalid:
    """Return a 422 with one entry, for checks outside models. ``kind`` is the entry's ``type``, such as ``missing``."""
    return Invalid([{"type": kind, "loc": list(loc), "msg": message, "input": value}])
