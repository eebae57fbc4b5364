"""Second judgements of archived assessments (``proctor judge again``), stored beside the first verdicts.

An entry's folder in the archive has a file ``judgements/KEY.json`` for each way in which the entry was judged again.
The file contains a ``Judgement`` for an assessment, and a ``Shift`` for a campaign. Results, lists and means still show
the first verdicts.
"""

import hashlib
import json
from typing import Literal

from pydantic import Field

from purple_sdk.protocol._wire import Instant, WireModel
from purple_sdk.protocol.results import CriterionResult, Scores, score_range

Evaluators = Literal["frozen", "current", "current kit"]

NOTICED = 0.05
"""Percentage points; a smaller shift counts as none."""


def _key(*who: str | None) -> str:
    return hashlib.sha256(json.dumps(who).encode()).hexdigest()[:16]


class JudgedBy(WireModel):
    """The evaluators and models that judged again. Equal evaluators and models judge an assessment alike.

    Attributes:
        proctor: the version of proctor.
        evaluators: the evaluators frozen at admission (``frozen``), or those of today's scenario (``current``).
            ``current kit`` is the frozen scenario, judged by today's kit and reader.
        code: the SHA-256 of the evaluators' files: the frozen files, or those of today's scenario or family.
        kit: the SHA-256 of those of these files that belong to the kit or the reader; None if there are none.
        reader: the version of the reader that the scenario names.
        judge: the model that was asked; None if none was.
        prompt: the version of the judge's prompt, if a model was asked.
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
        """The name of this judgement's file."""
        asked = "frozen" if self.evaluators == "frozen" else "current"
        return _key(self.proctor, asked, self.code, self.judge, self.prompt)

    def in_words(self) -> str:
        """Describe the judge, as the end of a sentence that begins with "judged again by"."""
        evaluators = {
            "frozen": "its own evaluators",
            "current": "today's evaluators",
            "current kit": "its own evaluators with today's kit",
        }[self.evaluators]
        return f"{evaluators} (proctor {self.proctor}{f', {self.judge}' if self.judge else ''})"


class Judgement(WireModel):
    """One assessment, judged again.

    Attributes:
        first: the points of the first verdicts; None if there were none.
        scores: the new points.
        criteria_results: the new verdicts; criteria in ``kept`` have their first verdicts.
        kept: the ids of criteria that a model judged the first time, while no model was asked this time.
        remark: a sentence with anything noteworthy about it.
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
        """The name of this judgement's file."""
        return self.by.key

    def in_words(self) -> str:
        """Return the outcome as a sentence."""
        points, first = self.scores.overall, self.first.overall if self.first else None
        now = f"{score_range(points.score, points.doubtful_points)}/{points.max_score}"
        was = f"{score_range(first.score, first.doubtful_points)}/{first.max_score}" if first else "no verdict"
        change = "the same points" if now == was else f"{was} became {now}"
        return f"judged again by {self.by.in_words()} on {self.judged_at:%Y-%m-%d}: {change}"


class MeanShift(WireModel):
    """The mean of an agent's runs in percent, as in campaign tables, before and now."""

    agent: str
    before: float | None
    now: float | None


class CriterionShift(WireModel):
    """A criterion's change: the number of runs in which it earned more or less, and its means in percent."""

    scenario: str
    criterion_id: str
    name: str
    runs: int
    more: int
    less: int
    before: float
    now: float


class RunShift(WireModel):
    """A run whose points changed, in percent of its judged points."""

    assessment_id: str
    day: str
    agent: str
    before: float | None
    now: float | None

    @property
    def size(self) -> float:
        """The size of the change in percentage points."""
        return abs((self.now or 0.0) - (self.before or 0.0))


class NotJudged(WireModel):
    """An assessment that was not judged again, and the reason."""

    assessment_id: str
    reason: str


class Shift(WireModel):
    """The changes over many judgements.

    Attributes:
        proctor, evaluators, judge: as in ``JudgedBy``; ``evaluators`` is the requested kind.
        code: for ``current``, the SHA-256 of proctor's kit and reader.
        runs: the number of runs judged again, now or earlier by the same evaluators.
        equal: the number of runs with the same verdicts, word for word.
        changed: the number of runs with other points.
        seconds: how long it took to judge the ``judged_now`` runs.
        kept: the number of first verdicts that were kept, since their criteria need a model.
        remarks: sentences, each with the number of runs that it applies to.
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
        """The name of this shift's file."""
        return _key(self.proctor, self.evaluators, self.code, self.judge)

    def in_words(self) -> str:
        """Return the outcome as a sentence."""
        by = "their own evaluators" if self.evaluators == "frozen" else "today's evaluators"
        who = f"{by} (proctor {self.proctor}{f', {self.judge}' if self.judge else ''})"
        means = ", ".join(
            f"{mean.agent} {mean.before:.1f} % became {mean.now:.1f} %"
            for mean in self.means
            if mean.before is not None and mean.now is not None and abs(mean.now - mean.before) >= NOTICED
        )
        return (
            f"judged again by {who} on {self.judged_at:%Y-%m-%d}: {self.changed} of {self.runs} runs have other points"
            + (f"; {means}" if means else "")
        )
