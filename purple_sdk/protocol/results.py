"""The outcome of an assessment (seed 000, section 2.2), with checks that its sums agree.

Scores are never made up. Points without a judgement count neither in ``score`` nor in ``max_score``, but in
``unscored_points``. ``coverage`` is the judged share of a scenario's points.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal, Protocol, Self, get_args

from pydantic import Field, JsonValue, computed_field, model_validator

from purple_sdk.protocol._wire import Instant, OfRole, WireModel
from purple_sdk.protocol.clocks import STANDING, conditions_title
from purple_sdk.protocol.forks import ForkedFrom
from purple_sdk.protocol.instances import instance_title
from purple_sdk.protocol.messages import ActionLogEntry, ModelUsage
from purple_sdk.protocol.provenance import ModelUse, Provenance


@dataclass(frozen=True)
class Told:
    """Metadata of a result's field. It makes a sentence of the field's value, which ``show`` and pages give beside the
    score.

    There is no sentence if the field has its default, or if ``sentence`` returns None.
    """

    sentence: Callable[[Any], str | None]


Dimension = Literal["accuracy", "instruction_following", "efficiency", "safety", "politeness"]
ResultStatus = Literal["completed", "failed", "timeout", "canceled"]
DIMENSIONS: tuple[Dimension, ...] = get_args(Dimension)


def score_range(score: int, doubtful_points: int) -> str:
    """Write a score, such as ``72``. With doubts, write a range, such as ``72 to 75``."""
    return f"{score} to {score + doubtful_points}" if doubtful_points else str(score)


class _Scored(WireModel):
    """A score. If every doubt were decided for the participant, ``doubtful_points`` would be added to it."""

    score: int = Field(ge=0)
    max_score: int = Field(ge=0)
    doubtful_points: int = Field(default=0, ge=0)

    @model_validator(mode="after")
    def _score_within_maximum(self) -> Self:
        if self.score > self.max_score:
            raise ValueError(f"score {self.score} is above max_score {self.max_score}")
        if self.score + self.doubtful_points > self.max_score:
            raise ValueError(
                f"score {self.score} and doubtful_points {self.doubtful_points} are above max_score {self.max_score}"
            )
        return self

    @property
    def score_text(self) -> str:
        """The score in words, a range if there are doubts."""
        return score_range(self.score, self.doubtful_points)


class Doubt(WireModel):
    """An undecided fact: patterns can't decide it, or a judge's answers are not reliable.

    The fact counts as not met. ``item`` is the rubric's item or the fact, ``statement`` its wording, and ``text`` the
    beginning of the text in question, if there is one.
    """

    item: str
    statement: str
    reason: str
    text: str | None = None


class UnreadMessages(WireModel):
    """Counts of messages in which a required value was not found. They are on the right matter, and to the people who
    should get the value.

    Attributes:
        looks_like_a_value: messages with something like a value, in which the reader may have failed.
        no_value: messages with nothing like a value.
    """

    looks_like_a_value: int = Field(default=0, ge=0)
    no_value: int = Field(default=0, ge=0)

    @classmethod
    def sum(cls, counts: Iterable[Self]) -> Self:
        """Add up all counts."""
        counts = list(counts)
        return cls(**{name: sum(getattr(count, name) for count in counts) for name in cls.model_fields})

    def sentence(self) -> str | None:
        """Return the counts as a sentence; None if all are 0."""
        if not self.looks_like_a_value and not self.no_value:
            return None
        both, looks = self.looks_like_a_value + self.no_value, self.looks_like_a_value
        return f"messages without a value that was read: {both}, {looks} of them with what looks like one"


class CriterionResult(_Scored):
    """One criterion's score.

    ``max_score`` counts the judged points, ``unscored_points`` all other points; ``unscored_reason`` says why they are
    unscored. ``judged_by`` is ``evaluator:NAME``, ``model:NAME``, ``offline_rubric``, or ``nobody``. If an evaluator
    looked for facts in texts, ``judged_by`` ends with their reader: ``evaluator:NAME (texts by patterns)``, or ``(texts
    by model:NAME)``. ``evaluator_hash`` is the SHA-256 of the scenario files with its evaluator. ``usage`` is the use
    of models. ``doubts`` are undecided facts, and ``doubtful_points`` the points at stake in them. ``description`` is
    the author's description of how to earn its points. ``judge_warnings`` are sentences about judge models without a
    calibration, or with too little agreement.
    """

    message_type: Literal["criterion_result"] = "criterion_result"
    criterion_id: str
    name: str
    dimension: Dimension
    explanation: str
    details: dict[str, JsonValue] | None = None
    judged_by: str = "nobody"
    unscored_points: int = Field(default=0, ge=0)
    unscored_reason: str | None = None
    evaluator_hash: str | None = None
    usage: list[ModelUse] = Field(default_factory=list)
    doubts: list[Doubt] = Field(default_factory=list)
    description: str | None = None
    judge_warnings: list[str] = Field(default_factory=list)

    @property
    def unread_messages(self) -> UnreadMessages:
        """The counts that the criterion's evaluator made (``details.unread``)."""
        return UnreadMessages.model_validate((self.details or {}).get("unread") or {})

    @property
    def is_unscored(self) -> bool:
        """Whether no point of this criterion was judged."""
        return self.max_score == 0 and self.unscored_points > 0


class _Judged(Protocol):
    """The fields of a criterion that its result needs."""

    @property
    def criterion_id(self) -> str: ...
    @property
    def name(self) -> str: ...
    @property
    def dimension(self) -> Dimension: ...
    @property
    def max_score(self) -> int: ...


def unscored(criterion: _Judged, reason: str) -> CriterionResult:
    """Return the result of a criterion that wasn't or couldn't be judged."""
    return CriterionResult(
        criterion_id=criterion.criterion_id,
        name=criterion.name,
        dimension=criterion.dimension,
        score=0,
        max_score=0,
        explanation=f"Not judged: {reason}",
        unscored_points=criterion.max_score,
        unscored_reason=reason,
    )


class DimensionScore(_Scored):
    """The sum of one dimension's criteria."""

    message_type: Literal["dimension_score"] = "dimension_score"


class OverallScore(_Scored):
    """The sum of all criteria."""

    message_type: Literal["overall_score"] = "overall_score"


def _require_sum(what: str, whole: _Scored, parts: Iterable[_Scored]) -> None:
    parts = list(parts)
    total = (sum(p.score for p in parts), sum(p.max_score for p in parts))
    if total != (whole.score, whole.max_score):
        raise ValueError(f"{what} is {whole.score}/{whole.max_score}, but its parts sum to {total[0]}/{total[1]}")
    if (doubtful := sum(p.doubtful_points for p in parts)) != whole.doubtful_points:
        raise ValueError(f"{what} has {whole.doubtful_points} doubtful_points, but its parts sum to {doubtful}")


class Scores(WireModel):
    """All scores; ``overall`` is the sum of ``dimensions``."""

    message_type: Literal["scores"] = "scores"
    overall: OverallScore
    dimensions: dict[str, DimensionScore]

    @model_validator(mode="after")
    def _overall_is_sum_of_dimensions(self) -> Self:
        _require_sum("scores.overall", self.overall, self.dimensions.values())
        return self

    @classmethod
    def of(cls, criteria: Sequence[CriterionResult]) -> Self:
        """Sum criteria by dimension and overall."""
        dimensions = {
            dimension: DimensionScore(**_summed([c for c in criteria if c.dimension == dimension]))
            for dimension in DIMENSIONS
            if any(c.dimension == dimension for c in criteria)
        }
        return cls(overall=OverallScore(**_summed(criteria)), dimensions=dimensions)


def _summed(criteria: Sequence[CriterionResult]) -> dict[str, Any]:
    names = ("score", "max_score", "doubtful_points")
    return {name: sum(getattr(criterion, name) for criterion in criteria) for name in names}


class ActionLogEntryWithTurn(WireModel):
    """One action in the simulation's event log, with its turn; ``role`` names one of several participants."""

    message_type: Literal["action_log_entry_with_turn"] = "action_log_entry_with_turn"
    turn: int
    timestamp: Instant
    action: str
    parameters: dict[str, JsonValue]
    success: bool
    error_message: str | None = None
    role: OfRole = None


class ReportedAction(ActionLogEntry):
    """One action as the participant reported it, with the turn of the report."""

    turn: int


class TurnModelUsage(ModelUsage):
    """The participant's use of one model in one turn, as the participant reports it."""

    turn: int


class Clarification(WireModel):
    """A notice to the participant during a turn, besides ``turn_start``; each kind is sent at most once.

    ``kind`` is ``question`` if the participant asked for input and was informed that no one can answer. It is
    ``unreadable`` if its answer couldn't be read and it was asked again. ``problem`` is the beginning of its question,
    or the error in its answer.
    """

    turn: int
    kind: Literal["question", "unreadable"]
    problem: str

    def sentence(self) -> str:
        """Return the event as a sentence."""
        if self.kind == "question":
            return f"The participant asked: {self.problem} The reply was that no one can answer."
        return f"{self.problem} It was asked once more."


class ActionReport(WireModel):
    """A comparison of the participant's own report with the event log.

    ``unreported`` has actions that happened and were not reported. ``never_happened`` has actions that were reported as
    done, but are not in the event log.
    """

    message_type: Literal["action_report"] = "action_report"
    reported: list[ReportedAction] = Field(default_factory=list)
    unreported: list[ActionLogEntryWithTurn] = Field(default_factory=list)
    never_happened: list[ReportedAction] = Field(default_factory=list)


class RoleResults(WireModel):
    """The outcome of one of several participants.

    ``entry`` is the id of the archive entry with the participant's turns, states and whole result. ``scores`` and
    ``coverage`` cover the role's criteria, whose ids are in ``criteria``. ``failure`` says why the participant failed;
    ``failure_kind`` is the failure's type.
    """

    role: str
    entry: str
    participant_url: str
    status: ResultStatus
    completion_reason: str | None = None
    failure: str | None = None
    failure_kind: str | None = None
    turns_taken: int = Field(ge=0)
    actions_taken: int = Field(ge=0)
    scores: Scores
    coverage: float = Field(ge=0, le=1)
    total_points: int = Field(ge=0)
    criteria: list[str]

    @classmethod
    def of(cls, results: "AssessmentResults", participant_url: str) -> Self:
        """Build a role's part from its own result."""
        same = ("status", "completion_reason", "failure", "failure_kind", "turns_taken", "actions_taken", "scores")
        return cls(
            role=results.participant,
            entry=results.assessment_id,
            participant_url=participant_url,
            criteria=[criterion.criterion_id for criterion in results.criteria_results],
            **{name: getattr(results, name) for name in (*same, "coverage", "total_points")},
        )


class AssessmentResults(WireModel):
    """The complete result: the A2A artifact ``assessment_results``.

    To add a field:

    * Declare it here, with a sentence (``Told``) if it is shown.
    * Set it in ``proctor.workflows.summing_up.sum_up``.
    * If lists, tables and exports show it, add it to ``EntrySummary`` (``OF_RESULT``).

    Attributes:
        duration_seconds: the seconds played, without pauses before resets.
        total_points: all points of the scenario, including those that were not judged.
        turn_tries: the number of tries by turn, for turns that needed more than one.
        is_partial: whether ``max_turns`` stopped the assessment before the scenario's time was over.
        scenario_turns: the scenario's number of turns at its default time step.
        family, difficulty, instance_seed: the family's day that was played; None for a fixed scenario.
            ``provenance.scenario_hash`` is the hash of its files. A fork's ``seed`` may differ from ``instance_seed``.
        clock, noise: the conditions of play, as the request names them.
        participant_usage: the participant's use of models, as it reports it.
        clarifications: messages to the participant besides ``turn_start``.
        judge_warnings: models that judged without a calibration, or whose calibration shows too little agreement.
        forked_from: the origin of a fork. Scores, ``action_log`` and ``action_report`` then cover the whole day,
            inherited turns included, because the state at its end is judged. Times, models and costs cover only the
            turns that this assessment played.
        roles: the outcome of each of several participants. All other fields then cover all participants together. Each
            role has the same number of points, so the score is the mean of the roles' shares. ``turns_taken`` is the
            largest. If one role failed, the assessment has failed and no criterion is scored here. The other roles'
            scores are in ``roles``.
    """

    message_type: Literal["assessment_results"] = "assessment_results"
    assessment_id: str
    scenario_id: str
    participant: str
    status: ResultStatus
    duration_seconds: float = Field(ge=0)
    turns_taken: int = Field(ge=0)
    actions_taken: int = Field(ge=0)
    scores: Scores
    criteria_results: list[CriterionResult]
    action_log: list[ActionLogEntryWithTurn]
    coverage: float = Field(default=1.0, ge=0, le=1)
    total_points: int = Field(default=0, ge=0)
    action_report: ActionReport = Field(default_factory=ActionReport)
    seed: int | None = None
    offline: bool = False
    completion_reason: str | None = None
    failure: str | None = None
    failure_kind: str | None = None
    turn_tries: dict[str, int] = Field(default_factory=dict)
    is_partial: bool = False
    scenario_turns: int | None = None
    family: str | None = None
    difficulty: int | None = None
    instance_seed: int | None = None
    clock: str = STANDING
    noise: int = 0
    provenance: Provenance | None = None
    participant_usage: list[TurnModelUsage] = Field(default_factory=list)
    clarifications: list[Clarification] = Field(default_factory=list)
    forked_from: ForkedFrom | None = None
    judge_warnings: list[str] = Field(default_factory=list)
    roles: list[RoleResults] = Field(default_factory=list, exclude_if=lambda roles: not roles)

    @computed_field  # type: ignore[prop-decorator]
    @property
    def unread_messages(self) -> Annotated[UnreadMessages, Told(UnreadMessages.sentence)]:
        """The messages of its criteria in which no value was read."""
        return UnreadMessages.sum(result.unread_messages for result in self.criteria_results)

    @property
    def remarks(self) -> list[str]:
        """The sentences of the fields that have one (``Told``), in the order of the fields."""
        cls = type(self)
        told = [(name, tuple(field.metadata)) for name, field in cls.model_fields.items()]
        told += [(name, get_args(field.return_type)) for name, field in cls.model_computed_fields.items()]
        sentences = [
            mark.sentence(getattr(self, name))
            for name, metadata in told
            for mark in metadata
            if isinstance(mark, Told) and not self._has_default(name)
        ]
        return [sentence for sentence in sentences if sentence]

    def _has_default(self, name: str) -> bool:
        field = type(self).model_fields.get(name)
        return field is not None and getattr(self, name) == field.get_default(call_default_factory=True)

    @property
    def final_scores(self) -> Scores | None:
        """The points of a completed assessment; None for any other."""
        return self.scores if self.status == "completed" else None

    @property
    def day(self) -> str:
        """The title of the day: ``clear_the_day · difficulty 2 · seed 7``, or a fixed scenario's id."""
        day = instance_title(self.scenario_id, self.difficulty, self.instance_seed)
        return day + conditions_title(self.clock, self.noise)

    @model_validator(mode="after")
    def _sums_agree(self) -> Self:
        _require_sum("scores.overall", self.scores.overall, self.criteria_results)
        for name, dimension in self.scores.dimensions.items():
            _require_sum(
                f"scores.dimensions.{name}",
                dimension,
                (c for c in self.criteria_results if c.dimension == name),
            )
        if self.actions_taken != len(self.action_log):
            raise ValueError(
                f"actions_taken is {self.actions_taken}, but action_log has {len(self.action_log)} entries"
            )
        return self


def seed_form(results: AssessmentResults) -> dict[str, JsonValue]:
    """Return a result as JSON that strict readers of the seeds' public project can also parse.

    Those readers refuse a criterion whose ``max_score`` is 0, so criteria without judged points are in
    ``unscored_criteria`` instead of ``criteria_results``. The seeds' text and code disagree about ``message_type`` in
    entries of ``action_log``, so entries have none.
    """
    form = results.model_dump(mode="json")
    criteria = form["criteria_results"]
    form["criteria_results"] = [criterion for criterion in criteria if criterion["max_score"]]
    form["unscored_criteria"] = [criterion for criterion in criteria if not criterion["max_score"]]
    for entry in form["action_log"]:
        del entry["message_type"]
    return form


def compute_coverage(criteria: Sequence[CriterionResult]) -> float:
    """Return the judged share of the scenario's points, 0 to 1 (four decimals); 1 if it has no points."""
    judged = sum(c.max_score for c in criteria)
    total = judged + sum(c.unscored_points for c in criteria)
    return round(judged / total, 4) if total else 1.0


def assessment_results(**fields: Any) -> AssessmentResults:
    """Build a result. Compute its sums from ``criteria_results`` and ``action_log``; take its other fields by name."""
    return AssessmentResults(**fields, **sums_of(fields["criteria_results"], fields["action_log"]))


def sums_of(criteria: Sequence[CriterionResult], action_log: Sequence[ActionLogEntryWithTurn]) -> dict[str, Any]:
    """Return the fields of a result that are computed from its criteria and its action log."""
    return {
        "scores": Scores.of(criteria),
        "coverage": compute_coverage(criteria),
        "total_points": sum(criterion.max_score + criterion.unscored_points for criterion in criteria),
        "actions_taken": len(action_log),
        "judge_warnings": list(
            dict.fromkeys(warning for criterion in criteria for warning in criterion.judge_warnings)
        ),
    }
