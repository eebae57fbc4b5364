"""How a modality is declared. One ``Modality`` per folder under ``modalities/``; everything else follows from it."""

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
    """What a read-only function gets: the state, not to be altered, and the simulator's time as canonical text."""

    state: State
    now: str
    memo: dict[Any, Any]
    """For what is costly to derive from the state, such as a sorted list: it is emptied when the state changes."""
    neighbours: Mapping[str, State]
    """The states of the modalities that this one has declared as neighbours; nothing derived from them is kept."""

    def derive(self, name: Hashable, build: Callable[[], T]) -> T:
        """What ``build`` returns, built once for each version of the state. Not to be altered."""
        if name not in self.memo:
            self.memo[name] = build()
        derived: T = self.memo[name]
        return derived


Operation = Callable[[Change, Any], None]
"""Carries out one operation of an event: reads the validated input, writes through the change, or raises
``OperationFailed`` (``change.fail("why")``), upon which everything is taken back and the event is ``failed``."""


def operations_in(input_model: type[InputModel], discriminator: str, *modules: ModuleType) -> dict[str, Operation]:
    """The operation for each value of an input's discriminator: the function of that name in one of the modules."""
    names: tuple[str, ...] = get_args(input_model.model_fields[discriminator].annotation)
    return {name: next(vars(module)[name] for module in modules if name in vars(module)) for name in names}


LONGEST_TEXT, MOST_VALUES = 1000, 1000
"""Characters of a text, and values of a list, that a query takes: everything is compared with each of them."""

Reader = Callable[[View, Any], JsonObject]
"""Answers a read: gets the view and the validated request or parameters, returns the JSON-ready answer."""


class StateParams(Request):
    """The query parameters of ``GET /{modality}/state``."""

    compact: bool = Field(
        default=False, description="Leave out histories and message bodies; the answer has at most about 20 kB."
    )


@dataclass(frozen=True, slots=True)
class Action:
    """``POST /{modality}/{path}``: something a caller can do. It becomes an event, executed at once."""

    path: str
    """What follows the modality's name, such as ``send`` or ``group/add``."""
    operation: str | None
    """The value of the input's discriminator; None for a modality whose input has none."""
    request: type[Request]
    summary: str
    _: KW_ONLY
    build: Callable[[Any, State], JsonObject] | None = None
    """Turns the request into the input's fields; by default they are the request's own fields that aren't null.
    ``modality_type``, ``timestamp`` (now), ``input_id`` and the discriminator are added where ``build`` gives none."""
    permission: str | None = None
    """By default ``{modality}:{path}``, with colons for slashes."""
    participant: bool = False
    """Whether a participant's key (level "user") may do this."""
    refuse: Callable[[Any, State], str | None] | None = None
    """Why a participant may not do this (403), as a sentence; None where it may."""
    detail: Callable[[State], str] | None = None
    """Text that is added to the answer's ``message``, made from the state right after the action."""


@dataclass(frozen=True)
class Query:
    """``POST /{modality}/query``."""

    request: type[Request]
    run: Reader
    response: type[Response]

    def answer(self, view: View, request: Request) -> JsonObject:
        """What the query finds. Raises Invalid (422) for what is too long to be searched for, and what ``run`` does."""
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
    """``GET /{modality}/{path}``: a further read besides the state. Participants may do it."""

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
    """What an event may ask for, by the discriminator's value. Without a discriminator, one entry named ``update``."""
    discriminator: str | None = "operation"
    """The input's field that names the operation."""
    initial: Callable[[str], JsonObject] = lambda now: {"last_updated": now}
    """The fields of the state of a new simulation at that time; the state model's defaults fill in the rest."""
    state_response: tuple[type[Response], ...] = ()
    """What ``GET /{modality}/state`` may answer, the usual form first."""
    state_params: type[StateParams] = StateParams
    show: Reader | None = None
    """Answers ``GET /{modality}/state``; gets the parameters, ``compact`` among them. A modality without has no routes
    of its own: it is reached through ``/environment`` and ``/events``."""
    digest: Callable[[View], JsonObject]
    """At most about 200 bytes for the one-page view of the environment: counts, and a few short lists. Lists are
    shortened from the end when the page grows too long."""
    news: Callable[[View, str], JsonObject] | None = None
    """What ``show`` gives of the messages, with those alone that came since an instant and the threads that they
    belong to; for a modality that may hold a great many."""
    describe: Callable[[State], str]
    """One short sentence for the environment's summary, such as ``3 emails, 1 unread``."""
    check: Callable[[State], Iterable[str]] = lambda _state: ()
    """Sentences on what is inconsistent in the state, for ``POST /environment/validate``."""
    hidden: frozenset[str] = frozenset()
    """Fields of the state that only exports and checkpoints have: a caller reads what is in them by a route."""
    complete: Callable[[State], None] = lambda _state: None
    """Fills in, after an import, what a scenario file may leave out (folders, threads, counts). May alter the state
    in place: nothing can be undone past an import."""
    actions: tuple[Action, ...] = ()
    query: Query | None = None
    reads: tuple[Read, ...] = ()
    event_fields: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Fields that a caller's event of an operation needs. Scenario files may leave them out."""
    neighbours: tuple[str, ...] = ()
    """Modalities whose states this one's operations and views may read, such as the address book."""

    def make_state(self, now: str) -> State:
        """The state of a new simulation. ``now`` is canonical text."""
        return self.load_state(self.initial(now))

    def load_state(self, data: Any) -> State:
        """A state from a scenario file: checked, times made canonical, what was left out filled in.

        Raises pydantic's ValidationError.
        """
        state: State = self.state.model_validate(data, context=FROM_FILE).model_dump()
        state["modality_type"] = self.name
        self.complete(state)
        return state

    def name_action(self, data: JsonObject) -> str | None:
        """The operation that an event's data asks for, as callers see it; None when it names none."""
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
        """The state as ``GET /{modality}/state`` answers it; as it is kept where there is no such route."""
        return view.state if self.show is None else self.show(view, self.state_params())

    def visible(self, state: State) -> JsonObject:
        """The state as it is kept, without what is hidden."""
        return {name: value for name, value in state.items() if name not in self.hidden} if self.hidden else state

    def show_news(self, view: View, since: str) -> JsonObject:
        """What is new since an instant: the whole state where the modality says nothing better."""
        return self.show_state(view) if self.news is None else self.news(view, since)


def threads_since(messages: JsonObject, since: str) -> JsonObject:
    """The messages, by id, of every thread in which something was sent since an instant."""
    new = [message for message in messages.values() if message["sent_at"] >= since]
    threads = {message["thread_id"] for message in new}
    return {key: message for key, message in messages.items() if message["thread_id"] in threads}


def page(
    matches: list[JsonObject],
    request: QueryRequest,
    name: str,
    modality: str,
) -> JsonObject:
    """The answer of a query: one page of the sorted ``matches`` under ``name``, the counts and the echoed query."""
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
    """A query that answers with a ``page``, whose entries of this ``kind`` are under the name ``entries``."""
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
    """``GET /{modality}/get``: an entry of a table of the state, by its id.

    Args:
        kind: what people call an entry. id_name: its field with the id.
        params: the name of the parameters' schema. also: how the summary ends.
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
    """Names to sort by, and their stored fields: ``sent_at``, or under another name ``date=sent_at``."""
    return {name: field or name for name, _, field in (each.partition("=") for each in names.split())}


def sort_key(field_name: str | None, allowed: Mapping[str, str], default: str) -> str:
    """The stored field to sort by. ``allowed`` maps what callers may name to stored fields.

    Raises Impossible (400) for a name that isn't there.
    """
    if field_name is None:
        return default
    if field_name not in allowed:
        raise Impossible(f"sort_by {field_name[:40]!r} is not a field to sort by; choose one of {', '.join(allowed)}.")
    return allowed[field_name]
