"""The agreement of a judge with a scenario's author: accuracy, Cohen's kappa, confusion."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from proctor.activities.plan import Model

REFUSED = "refused"
"""The judge's label if it gave no credible verdict; no author gives it."""


@dataclass(frozen=True)
class Pair:
    """The points that the author and the judge gave for one case: whole points, at most ``most``. None for a judge
    without a verdict.
    """

    author: int
    judge: int | None
    most: int

    @property
    def labels(self) -> tuple[str, str]:
        """The author's and the judge's label: ``none``, ``part`` or ``full``. The judge's may also be ``refused``."""
        return _label(self.author, self.most), REFUSED if self.judge is None else _label(self.judge, self.most)


class Agreement(Model):
    """Figures over some cases.

    Attributes:
        cases: the number of cases.
        right: for how many the judge gave the author's points; a refused answer is never right.
        refused: how many got no credible verdict.
        too_high, too_low: how many got more, or fewer, points than the author's.
        accuracy: ``right`` of ``cases``.
        kappa: Cohen's kappa; None if it isn't defined (no cases, or both always give the same label).
        confusion: the number of cases for each pair of labels, such as ``"full, none"``; the author's label comes
            first.
    """

    cases: int
    right: int
    refused: int
    too_high: int
    too_low: int
    accuracy: float
    kappa: float | None
    confusion: dict[str, int]


def agreement(pairs: Sequence[Pair]) -> Agreement:
    right = sum(pair.judge == pair.author for pair in pairs)
    kappa = cohens_kappa([pair.labels for pair in pairs])
    return Agreement(
        cases=len(pairs),
        right=right,
        refused=sum(pair.judge is None for pair in pairs),
        too_high=sum(pair.judge is not None and pair.judge > pair.author for pair in pairs),
        too_low=sum(pair.judge is not None and pair.judge < pair.author for pair in pairs),
        accuracy=round(right / len(pairs), 4) if pairs else 0.0,
        kappa=None if kappa is None else round(kappa, 4),
        confusion=dict(sorted(Counter(f"{author}, {judge}" for author, judge in (p.labels for p in pairs)).items())),
    )


def cohens_kappa(labels: Sequence[tuple[str, str]]) -> float | None:
    """Return the agreement beyond chance of two people who labelled the same items (Cohen 1960).

    The formula is ``(p_o - p_e) / (1 - p_e)``. ``p_o`` is the share of equal labels. ``p_e`` is the share of equal
    labels if both labelled at random with the same frequencies. The result is 1 for full agreement, and 0 for agreement
    by chance. None if there are no labels, or if all labels are the same.
    """
    total = len(labels)
    if not total:
        return None
    observed = sum(one == other for one, other in labels) / total
    first, second = Counter(one for one, _ in labels), Counter(other for _, other in labels)
    by_chance = sum(first[label] * second[label] for label in first) / total**2
    return None if by_chance == 1 else (observed - by_chance) / (1 - by_chance)


def _label(points: int, most: int) -> str:
    return "full" if points == most else "part" if points else "none"
