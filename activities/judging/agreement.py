"""How far a judge agrees with a scenario's author: accuracy, Cohen's kappa, confusion."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from proctor.activities.plan import Model

REFUSED = "refused"
"""The judge's label where it gave no verdict that can be believed; no author ever gives it."""


@dataclass(frozen=True)
class Pair:
    """What the author and the judge gave one case: whole points of ``most``; None for a judge without a verdict."""

    author: int
    judge: int | None
    most: int

    @property
    def labels(self) -> tuple[str, str]:
        """``none``, ``part`` or ``full`` for both, the judge's may be ``refused``."""
        return _label(self.author, self.most), REFUSED if self.judge is None else _label(self.judge, self.most)


class Agreement(Model):
    """Figures over some cases.

    Attributes:
        cases: how many.
        right: on how many the judge gave the author's points; a refused answer is never right.
        refused: on how many it gave no verdict that can be believed.
        too_high, too_low: on how many it gave more, or fewer, points than the author.
        accuracy: ``right`` of ``cases``.
        kappa: Cohen's; None where it isn't defined (no cases, or both always say the same one thing).
        confusion: number of cases by what the author and the judge said, ``"full, none"``: author first.
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
    """Agreement beyond chance of two who labelled the same things (Cohen 1960).

    ``(p_o - p_e) / (1 - p_e)``: the share on which they agree, and the share on which two would who label at random,
    each as often as these do. 1 is full agreement, 0 that of chance; None where chance alone agrees on everything, or
    there is nothing to compare.
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
