"""Declare modalities: one ``Modality`` per folder under ``modalities/``. All else is derived from it."""

from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import KW_ONLY, dataclass, field
from types import ModuleType
from typing import Any, TypeVar, get_args

from pydantic import BaseModel, Field, create_model

from proctor.ues.changes import Change as Change
from proctor.ues.changes import State as State
from proctor.ues.problems import Impossible, NotFound, OperationFailed
from proctor.ues.schema import FROM_FILE, InputModel, JsonObject, QueryRequest, Request, Response, StateModel, problem

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class View:
    """Gives a read-only function the state, which it must not alter, and the simulator's time as canonical text."""

    state: State
    now: str
    memo: dict[Any, Any]
    """A cache for data that is costly to derive from the state, such as a sorted list; a state change empties it."""
    neighbours: Mapping[str, State]
    """The states of the modalities that this one declares as neighbours; data derived from them must not be cached."""

    def derive(self, name: Hashable, build: Callable[[], T]) -> T:
        """Return the result of ``build``, built once for each version of the state. The caller must not alter it."""
        if name not in self.memo:
            self.memo[name] = build()
        derived: T = self.memo[name]
        return derived


Operation = Callable[[Change, Any], None]
"""Carries out one operation of an event: reads the validated input and writes through the change. If it raises
``OperationFailed`` (``change.fail("why")``), everything is undone and the event is ``failed``."""


def find_operations(input_model: type[InputModel], discriminator: str, *modules: ModuleType) -> dict[str, Operation]:
    """Return the operation for each value of an input's discriminator: the function of that name in the modules."""
    names: tuple[str, ...] = get_args(input_model.model_fields[discriminator].annotation)
    return {name: next(vars(module)[name] for module in modules if name in vars(module)) for name in names}


LONGEST_TEXT, MOST_VALUES = 1000, 1000
"""The most characters of a text, and values of a list, in a query. All records are compared with each of them."""

Reader = Callable[[View, Any], JsonObject]
"""Answers a read: gets the view and the validated request or parameters, returns the JSON-ready answer."""


class StateParams(Request):
    """The query parameters of ``GET /{modality}/state``."""

    compact: bool = Field(
        default=False, description="Leave out histories and message bodies; the answer has at most about 20 kB."
    )


@dataclass(frozen=True, slots=True)
class Action:
    """An action of a caller, ``POST /{modality}/{path}``. It becomes an event, which is executed at once."""

    path: str
    """The path after the modality's name, such as ``send`` or ``group/add``."""
    operation: str | None
    """The value of the input's discriminator; None for a modality whose input has none."""
    request: type[Request]
    summary: str
    _: KW_ONLY
    build: Callable[[Any, State], JsonObject] | None = None
    """Turns the request into the input's fields; by default, the request's fields that aren't null.
    ``modality_type``, ``timestamp`` (now), ``input_id`` and the discriminator are added unless ``build`` sets them."""
    permission: str | None = None
    """By default ``{modality}:{path}``, with colons for slashes."""
    participant: bool = False
    """Whether a participant's key (level "user") may do this."""
    refuse: Callable[[Any, State], str | None] | None = None
    """Returns the reason why a participant may not do this (403), as a sentence; None if it may."""
    detail: Callable[[State], str] | None = None
    """Returns text for the end of the answer's ``message``, from the state right after the action."""


@dataclass(frozen=True)
class Query:
    """``POST /{modality}/query``."""

    request: type[Request]
    run: Reader
    response: type[Response]

    def answer(self, view: View, request: Request) -> JsonObject:
        """Answer the query. Raises Invalid (422) for texts and lists that are too long, and the errors of ``run``."""
        for name, value in request:
            texts = value if isinstance(value, list) else [value]
            if len(texts) > MOST_VALUES or any(isinstance(text, str) and len(text) > LONGEST_TEXT for text in texts):
                raise problem(
                    "too_long",
                    f"Input should have at most {LONGEST_TEXT} characters, and at most {MOST_VALUES} values",
                    None,
                    "body",
                    name,
                )
        return self.run(view, request)


@dataclass(frozen=True, slots=True, kw_only=True)
class Read:
    """A further read besides the state, ``GET /{modality}/{path}``. Participants may do it."""

    path: str
    response: type[BaseModel]
    run: Reader
    summary: str
    params: type[Request] = Request
    permission: str | None = None


@dataclass(frozen=True, kw_only=True)
class Modality:
    """One modality's declaration. See ``proctor/ues/README.md`` for an annotated example."""

    name: str
    summary: str
    """One sentence for the documentation."""
    state: type[StateModel]
    """The shape under ``modality_states`` of a scenario file; checks imports and documents exports."""
    input: type[InputModel]
    """The shape of an event's ``data``."""
    operations: Mapping[str, Operation]
    """The operations of events, by the discriminator's value. Without a discriminator, one entry named ``update``."""
    discriminator: str | None = "operation"
    """The input's field that names the operation."""
    initial: Callable[[str], JsonObject] = lambda now: {"last_updated": now}
    """Returns the fields of a new simulation's state at that time; the state model's defaults fill in the rest."""
    state_response: tuple[type[Response], ...] = ()
    """The forms of the answer of ``GET /{modality}/state``, the usual form first."""
    state_params: type[StateParams] = StateParams
    show: Reader | None = None
    """Answers ``GET /{modality}/state``, with parameters such as ``compact``. A modality without it has no routes: only
    ``/environment`` and ``/events`` reach it."""
    digest: Callable[[View], JsonObject]
    """Returns counts and a few short lists for the one-page view of the environment, at most about 200 bytes. Lists are
    shortened from the end if the page grows too long."""
    news: Callable[[View, str], JsonObject] | None = None
    """Returns the state like ``show``, but only the threads with messages since an instant. It is for modalities that
    may hold many messages."""
    describe: Callable[[State], str]
    """Returns one short sentence for the environment's summary, such as ``3 emails, 1 unread``."""
    check: Callable[[State], Iterable[str]] = lambda _state: ()
    """Returns a sentence for each inconsistency in the state, for ``POST /environment/validate``."""
    hidden: frozenset[str] = frozenset()
    """Fields of the state that only exports and checkpoints contain; callers read their content by a route."""
    complete: Callable[[State], None] = lambda _state: None
    """Fills in, after an import, the data that a scenario file may leave out (folders, threads, counts). It may alter
    the state in place: an undo never goes back past an import."""
    actions: tuple[Action, ...] = ()
    query: Query | None = None
    reads: tuple[Read, ...] = ()
    event_fields: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """The fields that a caller's event needs, by operation. Scenario files may leave them out."""
    neighbours: tuple[str, ...] = ()
    """The modalities whose states this one's operations and views may read, such as the address book."""

    def make_state(self, now: str) -> State:
        """Return the state of a new simulation; ``now`` is canonical text."""
        return self.load_state(self.initial(now))

    def load_state(self, data: Any) -> State:
        """Return a state from a scenario file: checked, with canonical times, and with omitted data filled in.

        Raises pydantic's ValidationError.
        """
        state: State = self.state.model_validate(data, context=FROM_FILE).model_dump()
        state["modality_type"] = self.name
        self.complete(state)
        return state

    def name_action(self, data: JsonObject) -> str | None:
        """Return the operation that an event's data names, as callers see it; None if it names none."""
        if self.discriminator is None:
            return "update"
        value = data.get(self.discriminator)
        return value if isinstance(value, str) else None

    def run(self, change: Change, payload: InputModel) -> None:
        """Carry out an event's validated input. Raises OperationFailed."""
        name = "update" if self.discriminator is None else getattr(payload, self.discriminator)
        operation = self.operations.get(name)
        if operation is None:
            raise OperationFailed(f"{self.name} has no operation {name!r}")
        operation(change, payload)

    def show_state(self, view: View) -> JsonObject:
        """Return the state as ``GET /{modality}/state`` answers it; without such a route, the stored state."""
        return view.state if self.show is None else self.show(view, self.state_params())

    def visible(self, state: State) -> JsonObject:
        """Return the stored state without its hidden fields."""
        return {name: value for name, value in state.items() if name not in self.hidden} if self.hidden else state

    def show_news(self, view: View, since: str) -> JsonObject:
        """Return the news since an instant; the whole state if the modality doesn't declare ``news``."""
        return self.show_state(view) if self.news is None else self.news(view, since)


def threads_since(messages: JsonObject, since: str) -> JsonObject:
    """Return the messages, by id, of every thread in which a message was sent since an instant."""
    new = [message for message in messages.values() if message["sent_at"] >= since]
    threads = {message["thread_id"] for message in new}
    return {key: message for key, message in messages.items() if message["thread_id"] in threads}


def page(
    matches: list[JsonObject],
    request: QueryRequest,
    name: str,
    modality: str,
) -> JsonObject:
    """Return a query's answer: one page of the sorted ``matches`` under ``name``, the counts and the echoed query."""
    stop = None if request.limit is None else request.offset + request.limit
    shown = matches[request.offset : stop]
    return {
        "modality_type": modality,
        name: shown,
        "total_count": len(matches),
        "returned_count": len(shown),
        "query": request.model_dump(exclude_none=True),
    }


def paged_query(modality: str, request: type[QueryRequest], run: Reader, entries: str, kind: type[BaseModel]) -> Query:
    """Return a query that answers with a ``page``: entries of the model ``kind`` under the name ``entries``."""
    fields: dict[str, Any] = {
        "modality_type": (str, modality),
        entries: (list[kind], ...),  # type: ignore[valid-type]
        "total_count": (int, ...),
        "returned_count": (int, ...),
        "query": (JsonObject, ...),
    }
    name, about = request.__name__.replace("Request", "Response"), f"What ``POST /{modality}/query`` answers."
    return Query(request, run, create_model(name, __base__=Response, __doc__=about, **fields))


def read_by_id(
    modality: str, table: str, kind: str, id_name: str, response: type[BaseModel], params: str, also: str = ""
) -> Read:
    """Declare ``GET /{modality}/get``, which reads an entry of a table of the state by its id.

    Args:
        kind: the word for an entry in summaries and errors.
        id_name: the field of an entry that has its id.
        params: the name of the parameters' schema.
        also: the end of the summary.
    """
    text = Field(description=f"{id_name} of the {kind}, as queries and the state show it.")
    of_id: dict[str, Any] = {id_name: (str, text)}
    return Read(
        path="get",
        response=response,
        run=lambda view, params: find_by_id(view.state[table], getattr(params, id_name), kind),
        summary=f"Read one {kind} by its id{also}.",
        params=create_model(
            params, __base__=Request, __doc__=f"The query parameters of ``GET /{modality}/get``.", **of_id
        ),
        permission=f"{modality}:query",
    )


def find_by_id(entries: Mapping[str, JsonObject], wanted: str, kind: str) -> JsonObject:
    if wanted not in entries:
        raise NotFound(f"There is no {kind} with the id {wanted[:80]!r}. Ids are in the answers of queries.")
    return entries[wanted]


def sortable(names: str) -> dict[str, str]:
    """Return the stored field of each name to sort by, from a text such as ``sent_at date=sent_at``."""
    return {name: field or name for name, _, field in (pair.partition("=") for pair in names.split())}


def sort_key(field_name: str | None, allowed: Mapping[str, str], default: str) -> str:
    """Return the stored field to sort by. ``allowed`` maps the names that callers may use to stored fields.

    Raises Impossible (400) for a name that isn't in ``allowed``.
    """
    if field_name is None:
        return default
    if field_name not in allowed:
        raise Impossible(f"sort_by {field_name[:40]!r} is not a field to sort by; choose one of {', '.join(allowed)}.")
    return allowed[field_name]
