"""Second judgements of archived assessments (``proctor judge again``), which lie beside the first verdicts.

The archive's folder of an assessment has a file ``judgements/KEY.json`` with a ``Judgement`` for each way in which it
was judged again, that of a campaign one with a ``Shift``. Results, lists and means stay those of the first verdicts.
"""

import hashlib
import json
from typing import Literal

from pydantic import Field

from purple_sdk.protocol._wire import Instant, WireModel
from purple_sdk.protocol.results import CriterionResult, Scores, score_range

Evaluators = Literal["frozen", "current", "current kit"]

NOTICED = 0.05
"""Percentage points; a smaller shift is rounded to none."""


def _key(*who: str | None) -> str:
    return hashlib.sha256(json.dumps(who).encode()).hexdigest()[:16]


class JudgedBy(WireModel):
    """Who judged again; equal ones judge an assessment alike.

    Attributes:
        proctor: the version of proctor.
        evaluators: those of its admission (``frozen``), or those of today's scenario. ``current kit`` is the frozen
            scenario, judged by the kit and the reader of today.
        code: the SHA-256 of what the evaluators are of: the frozen files, or the files of today's scenario or family.
        kit: the SHA-256 of the kit and the reader among them; None where they have none.
        reader: the version of the reader that the scenario names.
        judge: the model that was asked; None where none was.
        prompt: the version of the judge's prompt, where a model was asked.
    """

    proctor: str
    evaluators: Evaluators
    code: str
    kit: str | None = None
    reader: int | None = None
    judge: str | None = None
    prompt: str | None = None

    @property
    def key(self) -> str:
        """The name of such a judgement's file."""
        asked = "frozen" if self.evaluators == "frozen" else "current"
        return _key(self.proctor, asked, self.code, self.judge, self.prompt)

    def in_words(self) -> str:
        """Who it is, as the end of a sentence that begins with "judged again by"."""
        evaluators = {
            "frozen": "its own evaluators",
            "current": "today's evaluators",
            "current kit": "its own evaluators with today's kit",
        }[self.evaluators]
        return f"{evaluators} (proctor {self.proctor}{f', {self.judge}' if self.judge else ''})"


class Judgement(WireModel):
    """One assessment, judged again.

    Attributes:
        first: the points of the first verdicts; None where there were none.
        scores: the points now.
        criteria_results: the verdicts now; of the criteria that ``kept`` lists, the first ones.
        kept: the ids of criteria that a model had judged, where none was asked now.
        remark: what to know of it, as a sentence.
    """

    message_type: Literal["judgement"] = "judgement"
    assessment_id: str
    by: JudgedBy
    judged_at: Instant
    first: Scores | None
    scores: Scores
    criteria_results: list[CriterionResult]
    kept: list[str] = Field(default_factory=list)
    remark: str = ""

    @property
    def key(self) -> str:
        """The name of its file."""
        return self.by.key

    def in_words(self) -> str:
        """What came of it, in a sentence."""
        points, first = self.scores.overall, self.first.overall if self.first else None
        said = f"{score_range(points.score, points.doubtful_points)}/{points.max_score}"
        was = f"{score_range(first.score, first.doubtful_points)}/{first.max_score}" if first else "no verdict"
        change = "the same points" if said == was else f"{was} became {said}"
        return f"judged again by {self.by.in_words()} on {self.judged_at:%Y-%m-%d}: {change}"


class MeanShift(WireModel):
    """The mean of an agent's runs in percent, as tables of campaigns have it, before and now."""

    agent: str
    before: float | None
    now: float | None


class CriterionShift(WireModel):
    """What became of a criterion: in how many of its runs it earned more or less, and its means in percent."""

    scenario: str
    criterion_id: str
    name: str
    runs: int
    more: int
    less: int
    before: float
    now: float


class RunShift(WireModel):
    """A run whose points changed, in percent of those that were judged."""

    assessment_id: str
    day: str
    agent: str
    before: float | None
    now: float | None

    @property
    def size(self) -> float:
        """By how many percentage points."""
        return abs((self.now or 0.0) - (self.before or 0.0))


class NotJudged(WireModel):
    """An assessment that was not judged again, and why."""

    assessment_id: str
    reason: str


class Shift(WireModel):
    """What many judgements changed.

    Attributes:
        proctor, evaluators, judge: as in ``JudgedBy``; ``evaluators`` is what was asked for.
        code: of ``current``, the SHA-256 of proctor's kit and reader.
        runs: how many were judged again, now or before by the same evaluators.
        equal: those with the same verdicts, word for word; ``changed``: those with other points.
        seconds: how long this took, for ``judged_now`` runs.
        kept: verdicts on criteria that needed a model, which stayed.
        remarks: sentences, and of how many runs each is true.
    """

    message_type: Literal["shift"] = "shift"
    proctor: str
    evaluators: Evaluators
    code: str | None = None
    judge: str | None = None
    judged_at: Instant
    runs: int
    judged_now: int = 0
    equal: int
    changed: int
    seconds: float = 0.0
    kept: int = 0
    means: list[MeanShift]
    criteria: list[CriterionShift]
    changed_runs: list[RunShift]
    not_judged: list[NotJudged] = Field(default_factory=list)
    remarks: dict[str, int] = Field(default_factory=dict)

    @property
    def key(self) -> str:
        """The name of its file."""
        return _key(self.proctor, self.evaluators, self.code, self.judge)

    def in_words(self) -> str:
        """What came of it, in a sentence."""
        by = "their own evaluators" if self.evaluators == "frozen" else "today's evaluators"
        who = f"{by} (proctor {self.proctor}{f', {self.judge}' if self.judge else ''})"
        means = ", ".join(
            f"{each.agent} {each.before:.1f} % became {each.now:.1f} %"
            for each in self.means
            if each.before is not None and each.now is not None and abs(each.now - each.before) >= NOTICED
        )
        return (
            f"judged again by {who} on {self.judged_at:%Y-%m-%d}: {self.changed} of {self.runs} runs have other points"
            + (f"; {means}" if means else "")
        )
