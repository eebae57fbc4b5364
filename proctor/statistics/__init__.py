"""Statistics over many runs: means, intervals, comparisons.

Reads only ``Run`` records (``purple_sdk.protocol.statistics``); each formula names its source. ``summaries`` makes the
tables, ``compared`` sets two agents side by side, ``items`` looks at criteria, ``forks_compared`` at forks of one
assessment.
"""

from proctor.statistics.comparisons import compared, units_needed, units_needed_range
from proctor.statistics.estimates import Unit, estimated, share_interval
from proctor.statistics.forks import forks_compared, spread_by_turn
from proctor.statistics.items import items
from proctor.statistics.passes import effective_runs, pass_at_k, pass_hat_k, pass_rates
from proctor.statistics.summaries import summaries
from proctor.statistics.weights import parts_by_scenario, percent_of, weighed_mean, weights

__all__ = [
    "Unit",
    "compared",
    "effective_runs",
    "estimated",
    "forks_compared",
    "items",
    "parts_by_scenario",
    "pass_at_k",
    "pass_hat_k",
    "pass_rates",
    "percent_of",
    "share_interval",
    "spread_by_turn",
    "summaries",
    "units_needed",
    "units_needed_range",
    "weighed_mean",
    "weights",
]
