"""The schema of a scenario package's ``scenario.json`` (seed 000, section 3.2).

If no model is available, a rubric item is scored by its mechanical ``check``, and a character answers with its
``scripted_replies``. Both are optional.
"""

from datetime import date, datetime, timedelta
from typing import Any, Literal, Self

from pydantic import (
    AliasChoices,
    AwareDatetime,
    BaseModel,
    ConfigDict,
    Field,
    JsonValue,
    field_validator,
    model_validator,
)

from proctor.language import moments
from proctor.language.facts import Answer
from proctor.language.patterns import Pattern
from proctor.language.reader import VERSION
from proctor.language.reader.reading import Reading, read
from proctor.language.text_tests import Test, TextTest
from proctor.protocol.modalities import Written
from proctor.protocol.nights import Night, check_nights, count_turns, start_of_turn
from proctor.protocol.roles import LONGEST_ROLE, MOST_ROLES, ROLE_NAME
from purple_sdk.protocol._wire import WHEN_USED
from purple_sdk.protocol.clocks import NoiseLevel
from purple_sdk.protocol.durations import Duration, parse_iso8601_duration
from purple_sdk.protocol.readings import bare, bare_phone
from purple_sdk.protocol.results import Dimension

UserChannel = Literal["chat", "email", "sms"]
"""The participant's ways to reach the user: the chat, or a message from the user's address to itself."""


class ScenarioModel(BaseModel):
    """A frozen part of a scenario; unknown fields are ignored."""

    model_config = ConfigDict(frozen=True, extra="ignore", populate_by_name=True, defer_build=WHEN_USED)


class ResponseTiming(ScenarioModel):
    """The delay of a character's answer: ``base_delay`` plus or minus up to ``variance``, drawn uniformly."""

    base_delay: Duration = "PT5M"
    variance: Duration = "PT0S"

    @property
    def base_delay_timedelta(self) -> timedelta:
        """``base_delay`` as a length of time."""
        return parse_iso8601_duration(self.base_delay)

    @property
    def variance_timedelta(self) -> timedelta:
        """``variance`` as a length of time."""
        return parse_iso8601_duration(self.variance)


class ScriptedReply(TextTest):
    """An answer of a character, or of the user, without a model.

    The first reply whose test (``TextTest``) passes the message's text is the answer. The text is:

    * for an email, ``subject``, line break, ``body`` (for HTML, its visible text)
    * for an SMS or a chat message, its body
    * for a calendar invitation, ``title``, ``start``, ``end`` (ISO 8601), ``location`` and ``description``, each on a
      line

    Attributes:
        reply: the text of the answer, or the comment on a response to an invitation. A reply with neither text nor
            ``response`` is deliberate silence.
        again: the answer to a repeated question. A question is repeated if an earlier message of the same thread and
            author also passes the test.
        modality: the only kind of message to answer; None for all kinds.
        after, before: the time in which an answered message must be sent; ``before`` is exclusive. A character can
            thus change its mind at a set time.
        response: the RSVP to an invitation.
    """

    reply: str = ""
    again: str | None = None
    modality: Written | None = None
    after: AwareDatetime | None = None
    before: AwareDatetime | None = None
    response: Literal["accepted", "declined", "tentative"] | None = None


class CharacterProfile(ScenarioModel):
    """A simulated person: addresses, personality, and how fast they answer."""

    name: str = Field(min_length=1)
    email: str | None = None
    phone: str | None = None
    personality: str = ""
    relationships: dict[str, str] = Field(default_factory=dict)
    response_timing: ResponseTiming = Field(default_factory=ResponseTiming)
    special_instructions: str | None = None
    config: dict[str, JsonValue] = Field(default_factory=dict)
    scripted_replies: list[ScriptedReply] = Field(default_factory=list)

    @property
    def bare_email(self) -> str:
        """The email address in the form to compare; empty if there is none."""
        return bare(self.email or "")

    @property
    def bare_phone(self) -> str:
        """The phone number in the form to compare; empty if there is none."""
        return bare(self.phone or "")


class RubricCheck(ScenarioModel):
    """A mechanical test of the participant's texts.

    Patterns have RE2's syntax and ignore case; ``.`` matches line ends.

    Attributes:
        kind: when the check passes.
            ``pattern_found``: a text has the pattern; with ``every``, there are texts and all have it.
            ``pattern_absent``: there are texts, and none has the pattern.
            ``length``: there are texts, and each has ``min`` to ``max`` words.
            ``count``: the number of texts is between ``min`` and ``max``. If there is a pattern, only texts with the
            pattern count.
        target: the texts. ``chat``: the assistant's chat messages. ``email``: sent mails (subject, line break, body).
            ``sms``: sent messages. ``calendar``: created or changed events (title, line break, description).
            ``any``: all of these.
        pattern, all, any, none: a text has "the pattern" if it has ``pattern`` and passes ``all``, ``any`` and
            ``none``. Each member of these is a pattern or a test (``TextTest``).
        doubtful: a text without the pattern is undecided if it passes this test. If the outcome depends on such a
            text, the item is not met, and is reported as in doubt.
        to: a regular expression; only texts to a matching recipient are tested.
        turns: the first and the last turn whose texts are tested.
    """

    kind: Literal["pattern_found", "pattern_absent", "length", "count"]
    target: Written | Literal["any"] = "chat"
    pattern: Pattern | None = None
    all: tuple[Test, ...] = ()
    any: tuple[Test, ...] = ()
    none: tuple[Test, ...] = ()
    doubtful: Test | None = None
    every: bool = False
    min: int = Field(default=0, ge=0)
    max: int | None = Field(default=None, ge=0)
    to: Pattern | None = None
    turns: tuple[int, int] | None = None

    @property
    def test(self) -> TextTest | None:
        """The test of the texts; None if any text is enough."""
        if self.pattern is None and not (self.all or self.any or self.none):
            return None
        return TextTest(pattern=self.pattern, all=self.all, any=self.any, none=self.none)

    def answer(self, reading: Reading) -> Answer:
        """Tell whether a text passes the check's test; None if it is in doubt. Without a test, every text passes."""
        if self.test is None or self.test.holds(reading):
            return True
        return None if self.doubtful is not None and self.doubtful.holds(reading) else False

    @model_validator(mode="after")
    def _has_what_its_kind_needs(self) -> Self:
        if self.kind.startswith("pattern") and self.test is None:
            raise ValueError(f"a check of kind {self.kind} needs a pattern, or all, any or none of several")
        if self.max is not None and self.max < self.min:
            raise ValueError(f"max is {self.max}, below min {self.min}")
        return self


ItemScope = Literal["any", "none"]
"""``any``: earned if found anywhere in the evidence; ``none``: kept unless violated anywhere."""


PointSource = Literal["state", "values", "text"]
"""The source that decides points: actions and state, exact values in texts, or free text."""


class RubricItem(ScenarioModel):
    """A statement that is true of a good performance, and its points.

    ``scope`` says how to combine the verdicts if the evidence is too long to be judged at once.
    """

    id: str = Field(min_length=1)
    points: int = Field(ge=1)
    statement: str = Field(min_length=1)
    scope: ItemScope = "any"
    check: RubricCheck | None = None


class EvaluationCriterion(ScenarioModel):
    """A scored requirement, judged by an evaluator function or by a model.

    Attributes:
        evaluator_id: the name of the evaluator function.
        evaluation_prompt, rubric: for a criterion that a model judges.
        needs_model_for: the number of points that the evaluator function can judge only with a model (``ctx.llm``).
            Without a model, these points stay unscored. If they are all of its points, the function isn't called.
        points_from: the points by the source that decides them; the sum is ``max_score``. ``state``: the actions and
            the final state. ``values``: times, amounts, addresses and the like, read mechanically from texts.
            ``text``: free text, read by a model or, without one, by patterns. A rubric's points are all from ``text``.
        work_evaluator_id: for a criterion that a model judges, an evaluator function that returns the share of the
            work done (score divided by maximum). The criterion's points are multiplied by this share, so good manners
            and the absence of harm earn nothing without work.
    """

    criterion_id: str = Field(min_length=1)
    name: str = Field(min_length=1)
    description: str = ""
    dimension: Dimension
    max_score: int = Field(ge=1)
    evaluator_id: str | None = None
    params: dict[str, JsonValue] | None = None
    needs_model_for: int = Field(default=0, ge=0)
    points_from: dict[PointSource, int] | None = None
    work_evaluator_id: str | None = None
    evaluation_prompt: str | None = None
    rubric: list[RubricItem] | None = None

    @model_validator(mode="after")
    def _is_consistent(self) -> Self:
        if not self.evaluator_id and not self.evaluation_prompt:
            raise ValueError(
                f"criterion {self.criterion_id!r} has neither evaluator_id nor evaluation_prompt: give it one of them"
            )
        if self.points_from is not None and (points := sum(self.points_from.values())) != self.max_score:
            raise ValueError(f"points_from adds up to {points}, but max_score is {self.max_score}")
        if self.needs_model_for > self.max_score:
            raise ValueError(f"needs_model_for is {self.needs_model_for}, above max_score {self.max_score}")
        if self.needs_model_for and not self.evaluator_id:
            raise ValueError("needs_model_for is for criteria with an evaluator_id: a model judges all of the others")
        if self.work_evaluator_id and self.evaluator_id:
            raise ValueError(
                "work_evaluator_id is for criteria without an evaluator_id: a function can see to the work itself"
            )
        if self.rubric is not None:
            if doubled := _repeated([item.id for item in self.rubric]):
                raise ValueError(f"rubric item id {doubled!r} appears twice")
            if (points := sum(item.points for item in self.rubric)) != self.max_score:
                raise ValueError(f"the rubric's points sum to {points}, but max_score is {self.max_score}")
        return self

    @property
    def needs_model(self) -> bool:
        """Whether a model has to judge it."""
        return not self.evaluator_id

    @property
    def sources(self) -> dict[PointSource, int]:
        """``points_from``; all from text if a model or a rubric judges, else empty if nothing is declared."""
        return self.points_from or ({} if self.evaluator_id else {"text": self.max_score})


def _repeated(values: list[str]) -> str | None:
    seen: set[str] = set()
    for value in values:
        if value in seen:
            return value
        seen.add(value)
    return None


_SHARED = (
    *("scenario_id", "name", "start_time", "end_time", "default_time_step", "nights", "noise", "version", "canary"),
    "roles",
)
"""The fields that all roles of a scenario share."""


def _with_whole_roles(data: dict[str, Any]) -> dict[str, Any]:
    """Complete each role of a scenario's document to a whole document; the first one is the scenario's own."""
    roles, shared = data["roles"], {name: value for name, value in data.items() if name != "roles"}
    if not isinstance(roles, dict) or not all(isinstance(role, dict) for role in roles.values()):
        raise ValueError("roles must be an object of objects: write each role's name, and its fields")
    users = {name: {**shared, **role}.get("user_character") for name, role in roles.items()}
    whole = {}
    for name, role in roles.items():
        if not ROLE_NAME.fullmatch(name) or len(name) > LONGEST_ROLE:
            raise ValueError(
                f"roles has the name {name[:80]!r}: use small letters, digits and single _ between them, at most "
                f"{LONGEST_ROLE} in all"
            )
        if changed := [key for key in _SHARED if (role.get(key) or None) not in (None, shared.get(key))]:
            raise ValueError(f"roles.{name} has {changed[0]!r}, which all roles share: write it beside roles")
        others = {other: user for other, user in users.items() if other != name}
        whole[name] = {**shared, **role, "colleagues": others}
    return {**shared, **next(iter(whole.values())), "roles": whole}


def _check_roles(roles: dict[str, "ScenarioConfig"]) -> None:
    """Raise ``ValueError`` unless roles can be played side by side and have equal points."""
    if len(roles) > MOST_ROLES:
        raise ValueError(f"roles has {len(roles)} names: at most {MOST_ROLES} participants play side by side")
    if len(roles) == 1:
        raise ValueError(f"roles has only {next(iter(roles))!r}: name two or more, or leave roles out")
    if doubled := _repeated([criterion.criterion_id for role in roles.values() for criterion in role.criteria]):
        raise ValueError(f"criterion_id {doubled!r} appears in two roles: give each criterion an id of its own")
    points = {name: sum(criterion.max_score for criterion in role.criteria) for name, role in roles.items()}
    if len(set(points.values())) > 1:
        raise ValueError(f"the roles' criteria have {points} points: give all roles the same sum, as each counts alike")
    if doubled := _repeated([role.user_character for role in roles.values()]):
        raise ValueError(f"two roles have the user_character {doubled!r}: each participant works for another user")
    for name, role in roles.items():
        for other, user in role.colleagues.items():
            known, whole = role.characters.get(user), roles[other].user
            if known is None or (known.email, known.phone) != (whole.email, whole.phone):
                raise ValueError(
                    f"roles.{name}.characters needs {user!r}, the user of {other}, with the same email and phone"
                )


class ScenarioConfig(ScenarioModel):
    """A scenario: a span of simulated time, its people, the user's request and the criteria.

    Attributes:
        nights: the times without turns between days, in order.
        user_character: the id of the character for whom the participant works.
        user_talks: the channels on which the user answers the participant; without any, the user never answers.
        initial_state: the name of a file beside ``scenario.json``, or the UES scenario itself, with or without its
            outer ``scenario`` wrapper.
        foreign_times: a pattern for words that mark a time in another zone than the scenario's ("Berlin|CEST").
        reader: the version of the rules for reading texts. A stored document without ``reader`` uses version 1. A
            newly admitted scenario gets the newest version (``admitted``).
        noise: the lowest level of noise for playing the scenario; a request may name a higher one.
        version: the author's name for this state of the scenario; results include it.
        canary: a unique GUID, by which the scenario can be found in training data and left out.
        max_turns: the budget of turns.
        roles: for several participants, the fields of each role that differ from the rest of the document: user,
            prompt, criteria, initial state, ``max_turns``. After reading, each role is a whole scenario, and the
            document's own fields are those of the first role.
        colleagues: the characters for whom the other participants work, by role; derived from ``roles``.
    """

    scenario_id: str = Field(min_length=1, pattern=r"^[A-Za-z0-9_.-]+$")
    name: str = Field(min_length=1)
    description: str = ""
    start_time: AwareDatetime
    end_time: AwareDatetime
    default_time_step: Duration = "PT1H"
    nights: tuple[Night, ...] = Field(default=(), max_length=4)
    user_prompt: str = Field(min_length=1)
    user_character: str
    user_talks: tuple[UserChannel, ...] = ()
    characters: dict[str, CharacterProfile]
    criteria: list[EvaluationCriterion] = Field(
        min_length=1, validation_alias=AliasChoices("criteria", "evaluation_criteria")
    )
    initial_state: str | dict[str, Any]
    foreign_times: Pattern | None = None
    reader: Literal[1, 2] = 1
    noise: NoiseLevel = 0
    version: str | None = None
    canary: str | None = None
    max_turns: int | None = Field(default=None, ge=1)
    roles: dict[str, "ScenarioConfig"] = Field(default_factory=dict)
    colleagues: dict[str, str] = Field(default_factory=dict)

    @model_validator(mode="before")
    @classmethod
    def _roles_are_whole_scenarios(cls, data: Any) -> Any:
        return _with_whole_roles(data) if isinstance(data, dict) and data.get("roles") else data

    @field_validator("default_time_step")
    @classmethod
    def _time_moves(cls, step: str) -> str:
        if not parse_iso8601_duration(step):
            raise ValueError("a turn must take some time: write a duration such as PT1H")
        return step

    @model_validator(mode="after")
    def _is_consistent(self) -> Self:
        _check_roles(self.roles)
        if self.end_time <= self.start_time:
            raise ValueError(
                f"end_time {self.end_time.isoformat()} is not after start_time {self.start_time.isoformat()}"
            )
        check_nights(self.start_time, self.end_time, self.nights)
        if doubled := _repeated([c.criterion_id for c in self.criteria]):
            raise ValueError(f"criterion_id {doubled!r} appears twice")
        emails = [c.email.lower() for c in self.characters.values() if c.email]
        phones = [bare_phone(c.phone) for c in self.characters.values() if c.phone]
        if doubled := _repeated(emails) or _repeated(phones):
            raise ValueError(f"two characters share the address {doubled!r}")
        if self.user_character not in self.characters:
            raise ValueError(
                f"user_character is {self.user_character!r}, which is not among the characters: "
                f"{', '.join(self.characters)}"
            )
        for channel, address in (("email", self.user.email), ("sms", self.user.phone)):
            if channel in self.user_talks and not address:
                raise ValueError(f"user_talks has {channel!r}, but {self.user.name} has no address there: give one")
        return self

    @classmethod
    def admitted(cls, document: dict[str, Any]) -> Self:
        """Read a scenario's document. Unless it names a reader, it gets the newest one.

        Raises ``pydantic.ValidationError``.
        """
        return cls.model_validate({"reader": VERSION, **document})

    def read(self, text: str, written: date | None = None) -> Reading:
        """Read a text with the scenario's reader.

        ``written`` is the day on which the text was written, by default the scenario's first day.
        """
        first_day = self.start_time.date()
        if self.reader == 1:  # weekdays belong to the week that begins with the first day
            return moments.Reading(text, first_day, self.foreign_times)
        return read(text, written or first_day, self.foreign_times)

    @property
    def all_criteria(self) -> list[EvaluationCriterion]:
        """The criteria of all its roles, or of its only participant."""
        return [criterion for role in self.roles.values() or [self] for criterion in role.criteria]

    @property
    def user(self) -> CharacterProfile:
        """The person for whom the participant works."""
        return self.characters[self.user_character]

    @property
    def expected_turns(self) -> int:
        """The number of turns of ``default_time_step`` in the scenario's days, rounded up."""
        step = parse_iso8601_duration(self.default_time_step)
        return count_turns(self.start_time, self.end_time, step, self.nights)

    def start_of_turn(self, turn: int) -> datetime:
        """Return when a turn (from 1) begins if each turn before it took ``default_time_step``."""
        step = parse_iso8601_duration(self.default_time_step)
        return start_of_turn(turn, self.start_time, self.end_time, step, self.nights)

    def get_criteria_by_dimension(self, dimension: Dimension) -> list[EvaluationCriterion]:
        """Return the criteria of one dimension, in order."""
        return [c for c in self.criteria if c.dimension == dimension]
