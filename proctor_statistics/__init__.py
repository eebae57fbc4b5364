"""What many runs say together: means with intervals, pass rates, comparisons, and which criteria tell agents apart.

Reads only ``Run`` records, which come from the archive; each formula names its source. ``summaries`` makes the tables,
``compared`` sets two agents side by side, ``items`` looks at criteria, ``turns`` at forks of one assessment.
"""

from proctor_statistics.comparisons import Comparison, compared
from proctor_statistics.estimates import Estimate, Unit, estimated
from proctor_statistics.forks import TurnSpread, spread_by_turn
from proctor_statistics.items import Item, items
from proctor_statistics.passes import PassRates, pass_at_k, pass_hat_k, pass_rates
from proctor_statistics.runs import Points, Run
from proctor_statistics.summaries import Counts, Summary, summaries

__all__ = [
    "Comparison",
    "Counts",
    "Estimate",
    "Item",
    "PassRates",
    "Points",
    "Run",
    "Summary",
    "TurnSpread",
    "Unit",
    "compared",
    "estimated",
    "items",
    "pass_at_k",
    "pass_hat_k",
    "pass_rates",
    "spread_by_turn",
    "summaries",
]
