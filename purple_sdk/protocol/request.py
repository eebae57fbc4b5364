"""The request that starts an assessment (seed 001, section 4)."""

import json
import re
from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Any, Self, TypeVar
from urllib.parse import parse_qsl, urlsplit

from pydantic import Field, ValidationError, ValidationInfo, field_validator, model_validator
from pydantic_core import PydanticCustomError

from purple_sdk.protocol._wire import Int64, WireModel
from purple_sdk.protocol.clocks import ClockName, NoiseLevel
from purple_sdk.protocol.instances import DIFFICULTIES
from purple_sdk.protocol.json_text import in_braces, is_cut_off
from purple_sdk.protocol.problems import describe, show_value

Raw = dict[str, Any] | str | None
"""A request before its checks: a message's data part, or its text if it has no data part."""

RequestT = TypeVar("RequestT", bound=WireModel)

PARTICIPANT_ROLES = ("personal_assistant", "assistant")
"""The roles that name the participant among several, in order of preference."""

_SHAPE = '{"participants": {"personal_assistant": URL}, "config": {"scenario_id": ID}}'

_SECRET_NAME = re.compile(r"key|token|secret|passw|auth|sig|credential", re.IGNORECASE)
"""Names of query parameters that carry credentials."""


class BadRequestError(ValueError):
    """A request that can't be carried out; the message is a sentence for its sender."""


def check_addresses(participants: dict[str, str]) -> dict[str, str]:
    """Return participants' addresses by role, unchanged. Raises ``ValueError`` if an address is invalid or contains
    credentials; the message names its role.
    """
    for role, url in participants.items():
        try:
            parts = urlsplit(url)
            usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
        except ValueError:
            usable = False
        if not usable or any(c.isspace() for c in url):
            raise ValueError(
                f"participants.{role} is {show_value(url)}: give the agent's address, such as http://localhost:8001"
            )
        secret = next((name for name, _ in parse_qsl(parts.query) if _SECRET_NAME.search(name)), None)
        if secret or "@" in parts.netloc:
            where = f"the parameter {show_value(secret)}" if secret else "a user or password"
            raise ValueError(
                f"participants.{role} has {where} in its address, which logs, Temporal and the archive keep: give an "
                "address without credentials, of a proxy that adds them if the agent needs them"
            )
    return participants


def check_roles(participants: dict[str, str], assessed: Sequence[str], remedy: str) -> None:
    """Refuse several participants if none has an assessed role. The ``ValueError`` names the roles and ends with
    ``remedy``, the roles to choose from.
    """
    if len(participants) > 1 and not any(role in participants for role in assessed):
        raise ValueError(
            f"participants has several roles ({', '.join(sorted(participants))}): name the one to assess {remedy}"
        )


def choose_participant(participants: dict[str, str], assessed: Sequence[str]) -> tuple[str, str]:
    """Return the role and the address of the first role in ``assessed`` that is present. If none is, return those of
    the only participant.
    """
    for role in assessed:
        if role in participants:
            return role, participants[role]
    return next(iter(participants.items()))


_NAMES_A_TASK = ("fork_of", "grows")
"""Settings that name another task, on which a request builds."""


class AssessmentConfig(WireModel):
    """The sender's choices for one assessment.

    Attributes:
        fork_of: the id of an assessment. This one inherits its turns before ``from_turn`` and plays the same version of
            its scenario. Missing fields are taken from it, including ``seed``, judges and ``participants``.
        from_turn: the first turn that a fork plays itself.
        from_evening: an alternative to ``from_turn``. The fork begins after the evening of this day; 1 is the first
            day.
        scenario_id: the scenario to play, or the family of the day. A fork takes it from the original.
        difficulty: the difficulty of a family's day, 1 to 4, by default 2. Fixed scenarios have none.
        seed: the source of all random choices of the assessment, and of a family's day; by default derived from the
            task's id.
        clock: whether simulated time passes during a turn. Default: ``standing`` (it doesn't). With ``fixed:SECONDS``
            each of the participant's requests costs that time. With ``measured`` simulated time passes as fast as the
            participant's own, with ``measured:FACTOR`` that many times as fast.
        noise: how often the participant's requests fail or get outdated, incomplete or late answers, from 0 (never, the
            default) to 3. A higher level in the scenario takes precedence.
        max_turns: the largest number of turns; by default the evaluator's ``default_max_turns``.
        verbose_updates: whether to send every task update, or only the milestones.
        offline: whether to play without any model, with scripted characters and mechanical judging.
        turn_timeout: seconds that the participant may take for one turn.
        judges: names of the models that judge; by default the evaluator's ``evaluation_model``. With several, each item
            of a criterion has the median of their points.
        votes: how often each judge judges.
        turn_tries: how often a turn may be played when the participant fails in it; 1 forbids a second try.
    """

    fork_of: str | None = Field(default=None, min_length=1, max_length=200)
    from_turn: int | None = Field(default=None, ge=1, le=100_000)
    from_evening: int | None = Field(default=None, ge=1, le=100)
    scenario_id: str = ""
    difficulty: int | None = None
    seed: Int64 | None = None
    clock: ClockName | None = None
    noise: NoiseLevel | None = None
    max_turns: int | None = Field(default=None, ge=1, le=100_000)
    verbose_updates: bool = True
    offline: bool = False
    turn_timeout: float | None = Field(default=None, gt=0, le=86_400)
    turn_tries: int | None = Field(default=None, ge=1, le=10)
    judges: list[str] | None = Field(default=None, min_length=1, max_length=9)
    votes: int = Field(default=1, ge=1, le=9)

    @field_validator("scenario_id")
    @classmethod
    def _only_forks_need_no_scenario(cls, scenario_id: str, others: ValidationInfo) -> str:
        if not scenario_id and not others.data.get("fork_of"):
            raise PydanticCustomError("missing", "Field required")
        return scenario_id

    @field_validator("difficulty")
    @classmethod
    def _difficulty_is_one_of_them(cls, difficulty: int | None) -> int | None:
        return None if difficulty is None else check_difficulty(difficulty)

    @model_validator(mode="after")
    def _a_fork_has_both(self) -> Self:
        if self.from_turn is not None and self.from_evening is not None:
            raise ValueError("from_turn and from_evening both say where a fork begins: name one of them")
        require_fork(self.fork_of, self.from_turn or self.from_evening, "from_turn")
        return self


def check_difficulty(difficulty: int) -> int:
    """Return a valid difficulty unchanged. Raises ``ValueError`` for an invalid one; the message names the nearest
    valid one.
    """
    if difficulty not in DIFFICULTIES:
        nearest = min(DIFFICULTIES, key=lambda known: abs(known - difficulty))
        raise ValueError(f"choose from {DIFFICULTIES[0]} to {DIFFICULTIES[-1]}; the nearest is {nearest}")
    return difficulty


def require_fork(fork_of: str | None, turns: object, name: str) -> None:
    """Raise ``ValueError`` unless a fork has both the assessment and its turns, whose setting is called ``name``."""
    if fork_of is not None and turns is None:
        raise ValueError(f"fork_of is there and {name} is not: say from which turn on the fork plays itself")
    if fork_of is None and turns is not None:
        raise ValueError(f"{name} is there and fork_of is not: name the assessment to fork")


def read_settings(raw: Raw) -> dict[str, Any]:
    """Return the ``config`` of a message of any kind, unchecked; an empty one if it can't be read."""
    if isinstance(raw, str):
        try:
            raw = read_text(raw)
        except BadRequestError:
            return {}
    config = raw.get("config") if isinstance(raw, dict) else None
    return config if isinstance(config, dict) else {}


def find_base_tasks(raw: Raw) -> dict[str, str]:
    """Return the ids of the tasks on which a request of any kind builds, each by the setting that names it."""
    config = read_settings(raw)
    return {name: config[name] for name in _NAMES_A_TASK if isinstance(config.get(name), str)}


def is_fork_request(raw: Raw) -> bool:
    """Tell whether a message asks for a fork."""
    return read_settings(raw).get("fork_of") is not None


def with_participants(data: Any) -> Any:
    """Complete an unchecked request. A request for a fork may leave out the participants."""
    return {"participants": {}, **data} if isinstance(data, dict) and is_fork_request(data) else data


class AssessmentRequest(WireModel):
    """A request for an assessment: the agents' A2A addresses by role, and the settings. A fork without participants
    assesses the original's participants.

    A scenario with several participants needs an address for each of its roles; several roles may share one address.
    """

    participants: dict[str, str]
    config: AssessmentConfig

    _addresses_are_urls = field_validator("participants")(check_addresses)

    _a_fork_may_name_nobody = model_validator(mode="before")(with_participants)

    @model_validator(mode="after")
    def _one_participant(self) -> Self:
        if not self.participants and not self.config.fork_of:
            raise ValueError(
                "participants is empty: name the agent to assess, such as "
                '{"personal_assistant": "http://localhost:8001"}'
            )
        return self

    def require_participant(self) -> tuple[str, str]:
        """Return role and address of the one agent to assess. Raises ``BadRequestError`` if that is ambiguous."""
        try:
            check_roles(self.participants, PARTICIPANT_ROLES, " or ".join(PARTICIPANT_ROLES))
        except ValueError as error:
            raise BadRequestError(f"Bad request: {error}.") from None
        return choose_participant(self.participants, PARTICIPANT_ROLES)

    def require_roles(self, roles: Iterable[str]) -> dict[str, str]:
        """Return the agent's address for each role of the scenario, in order; ``BadRequestError`` on a mismatch."""
        wanted, scenario_id = list(roles), self.config.scenario_id
        remedy = f"give each role of {scenario_id} an agent's address: {', '.join(wanted)}"
        for role in self.participants:
            if role not in wanted:
                raise BadRequestError(f"Bad request: participants has the role {show_value(role)}: {remedy}.")
        for role in wanted:
            if role not in self.participants:
                raise BadRequestError(f"Bad request: participants.{role} is missing: {remedy}.")
        return {role: self.participants[role] for role in wanted}


def parse_request(raw: Raw) -> AssessmentRequest:
    """Read a request from a message's data part, or from its text (``read_text``). Raises ``BadRequestError`` whose
    message states the problem and what to send instead.
    """
    if raw is None or (isinstance(raw, str) and not raw.strip()):
        raise BadRequestError(f"The message has no request: send {_SHAPE} as a data part, as JSON text or a JSON file.")
    return checked(AssessmentRequest, read_text(raw) if isinstance(raw, str) else raw, _SHAPE)


def checked(kind: type[RequestT], value: Any, shape: str) -> RequestT:
    """Read a request of a kind from JSON data; errors (``BadRequestError``) show ``shape``, the expected form."""
    if not isinstance(value, dict):
        raise BadRequestError(f"The request is {show_value(value)}: send an object, {shape}.")
    try:
        return kind.model_validate(value)
    except ValidationError as error:
        raise BadRequestError(f"Bad request: {describe(error)}.") from None


def unknown_settings(raw: Raw) -> list[str]:
    """Return the names under ``config`` that this evaluator doesn't know, to report misspelt ones."""
    return sorted(set(read_settings(raw)) - set(AssessmentConfig.model_fields))


def read_text(text: str) -> Any:
    """Read a text as JSON, or find the one JSON object in it, fenced or with prose around it. Raises
    ``BadRequestError`` if the text has no object, or several that differ.

    Takes time in proportion to the text's length, for every text.
    """
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        whole_problem = error
    objects: list[dict[str, Any]] = []
    broken: Exception | None = None
    candidates = list(islice(in_braces(text), _MOST_IN_BRACES + 1))
    if len(candidates) > _MOST_IN_BRACES:
        raise BadRequestError(
            f"The message has more than {_MOST_IN_BRACES} things in braces: send one JSON object, {_SHAPE}."
        )
    for braced in candidates:
        try:
            value: dict[str, Any] = json.loads(braced)
        except (ValueError, RecursionError) as error:
            if '"' in braced:  # meant as JSON, not a word in braces
                broken = broken or error
            continue
        if value not in objects:
            objects.append(value)
    if len(objects) == 1 and broken is None:
        return objects[0]
    if len(objects) > 1:
        raise BadRequestError(
            "The message has several JSON objects that differ, and which one is the request can't be determined: "
            f"send one, {_SHAPE}."
        )
    raise BadRequestError(f"The message's text is not JSON ({_where(text, broken or whole_problem)}): send {_SHAPE}.")


def _where(text: str, problem: Exception) -> str:
    """Describe where JSON has an error."""
    if isinstance(problem, json.JSONDecodeError):
        return (
            "it ends too early"
            if is_cut_off(text)
            else f"it goes wrong at line {problem.lineno}, column {problem.colno}"
        )
    return "it has too many levels"


_MOST_IN_BRACES = 100
"""A limit on pairs of braces; prose around a request has only a few."""
