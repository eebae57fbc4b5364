"""Statistics over many runs: means, intervals, comparisons.

All functions read only ``Run`` records (``proctor_protocol.statistics``). Each formula names its source. ``summaries``
makes the tables, ``compared`` compares two agents, ``items`` analyses criteria, and ``forks_compared`` the forks of one
assessment.
"""

from proctor_statistics.comparisons import compared, units_needed, units_needed_range
from proctor_statistics.estimates import Unit, estimated, share_interval
from proctor_statistics.forks import forks_compared, spread_by_turn
from proctor_statistics.items import items
from proctor_statistics.passes import effective_runs, pass_at_k, pass_hat_k, pass_rates
from proctor_statistics.summaries import summaries
from proctor_statistics.weights import parts_by_scenario, select_percent, weighed_mean, weights

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
    "select_percent",
    "share_interval",
    "spread_by_turn",
    "summaries",
    "units_needed",
    "units_needed_range",
    "weighed_mean",
    "weights",
]
