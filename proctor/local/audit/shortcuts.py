"""The shortcut learner: how often features that need no understanding find the right answers (check 14)."""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from statistics import fmean

import numpy as np

from proctor.local.audit.clues import Choice, Clues, Decision
from proctor.local.audit.learning import FOLDS, Fitted, Matrix, fit_line, fit_tree, right_among, scores

MOST_GAINED = 0.10
"""The largest gain: how much the learner's accuracy may exceed that of chance, or of the most frequent answer."""

ERRORS = 3
"""A gain also has to exceed this number of the baseline's standard errors."""

LEAST_CASES = 100
"""The least number of choices that the learner learns from."""

_FEW = 6  # a duty with more different answers isn't a decision
_MODELS: dict[str, Callable[[Matrix, Matrix], Fitted]] = {"tree": fit_tree, "line": fit_line}


@dataclass(frozen=True)
class Learned:
    """The learner's results for one subject.

    Attributes:
        subject: a duty's type and the kind of its candidates, such as ``price answer 0``.
        cases: the number of choices.
        baseline: how often chance, or the most frequent answer, is right (0 to 1).
        gains: models to their gain: how much more often a model is right than the baseline.
        clues: clues to the gain of a tree that sees only this clue.
        unknown: the same as ``gains``, but without the senses that are known to give answers away.
    """

    subject: str
    cases: int
    baseline: float
    gains: dict[str, float] = field(default_factory=dict)
    clues: dict[str, float] = field(default_factory=dict)
    unknown: dict[str, float] = field(default_factory=dict)

    @property
    def has_enough(self) -> bool:
        """Whether there were enough choices to learn from."""
        return self.cases >= LEAST_CASES

    @property
    def bar(self) -> float:
        """The largest permitted gain: ``MOST_GAINED``, or more if there are so few choices that luck explains more."""
        return max(MOST_GAINED, ERRORS * math.sqrt(self.baseline * (1 - self.baseline) / self.cases))

    @property
    def best_clues(self) -> list[str]:
        """The clues that exceed the bar alone, each with its gain in points, the best first."""
        best = sorted(self.clues.items(), key=lambda clue: -clue[1])
        return [f"{name} +{100 * gain:.0f}" for name, gain in best if gain > self.bar]


def learn_choices(subject: str, choices: Sequence[tuple[int, Choice]], known: Iterable[str] = ()) -> Learned:
    """Train the learner on the choices of a subject, and return its results.

    Args:
        subject: the ``subject`` of the choices.
        choices: (number of the choice's day or of the day's group, choice).
        known: senses that are known to give answers away.
    """
    baseline = fmean(sum(choice.right) / len(choice.right) for _, choice in choices)
    if len(choices) < LEAST_CASES:
        return Learned(subject, len(choices), baseline)
    names, rows = _matrix([row for _, choice in choices for row in choice.candidates])
    right = np.array([name for _, choice in choices for name in choice.right])
    folds = [day % FOLDS for day, choice in choices for _ in choice.right]
    ends = np.cumsum([len(choice.right) for _, choice in choices])[:-1]

    def gain(fit: Callable[[Matrix, Matrix], Fitted], columns: Matrix) -> float:
        scored = scores(fit, columns, right.astype(np.float64), folds)
        pairs = zip(np.split(scored, ends), np.split(right, ends), strict=True)
        return fmean(right_among(*pair) for pair in pairs) - baseline

    return _learned(subject, len(choices), baseline, names, rows, gain, known)


def learn_decisions(
    subject: str, decisions: Sequence[tuple[int, Decision]], known: Iterable[str] = ()
) -> Learned | None:
    """Train the learner on decisions, as ``learn_choices`` does; None if the answers are too many."""
    answers = [decision.answer for _, decision in decisions]
    kinds = sorted(set(answers))
    if not 1 < len(kinds) <= _FEW:
        return None
    baseline = max(answers.count(kind) for kind in kinds) / len(answers)
    if len(decisions) < LEAST_CASES:
        return Learned(subject, len(decisions), baseline)
    names, rows = _matrix([decision.clues for _, decision in decisions])
    folds = [day % FOLDS for day, _ in decisions]
    targets = np.array([[answer == kind for kind in kinds] for answer in answers])

    def gain(fit: Callable[[Matrix, Matrix], Fitted], columns: Matrix) -> float:
        scored = np.column_stack([scores(fit, columns, target.astype(np.float64), folds) for target in targets.T])
        return fmean(right_among(*pair) for pair in zip(scored, targets, strict=True)) - baseline

    return _learned(subject, len(decisions), baseline, names, rows, gain, known)


def _learned(
    subject: str,
    cases: int,
    baseline: float,
    names: Sequence[str],
    rows: Matrix,
    gain: Callable[[Callable[[Matrix, Matrix], Fitted], Matrix], float],
    known: Iterable[str],
) -> Learned:
    gains = {name: gain(fit, rows) for name, fit in _MODELS.items()}
    clues = {name: gain(fit_tree, rows[:, [place]]) for place, name in enumerate(names)}
    hidden = frozenset(known)
    left = [place for place, name in enumerate(names) if name.partition(":")[0] not in hidden]
    unknown = {name: gain(fit, rows[:, left]) for name, fit in _MODELS.items()} if hidden else gains
    return Learned(subject, cases, baseline, gains, clues, unknown)


def _matrix(rows: Sequence[Clues]) -> tuple[list[str], Matrix]:
    """The names of the clues that vary, and a column for each of them."""
    names = sorted({name for row in rows for name in row})
    columns = np.array([[row.get(name, -1.0) for name in names] for row in rows])
    varies = [place for place in range(len(names)) if np.ptp(columns[:, place]) > 0]
    return [names[place] for place in varies], columns[:, varies]
