"""Two agents side by side, in words: the difference, how sure it is, and what it would take to see one."""

from proctor.phrases import clean, counted
from proctor_protocol.statistics import Comparison, Estimate


def interval_in_words(estimate: Estimate | None) -> str:
    """A 95 % interval; "" where there is none."""
    if estimate is None or estimate.low is None or estimate.high is None:
        return ""
    return f"{estimate.low:.1f} to {estimate.high:.1f}"


def comparison_in_words(comparison: Comparison, difference: int = 5) -> list[str]:
    """A line on the difference that was found, and one on the runs that would show a ``difference`` in points."""
    pair = f"{clean(comparison.first)} less {clean(comparison.second)}"
    if comparison.difference is None:
        return [f"{pair}: never judged on the same scenario, seed and repeat"]
    interval = f" ({interval_in_words(comparison.difference)})" if comparison.difference.low is not None else ""
    why = f" (no interval and no p: {comparison.difference.why})" if comparison.difference.why else ""
    p_value = f", p = {comparison.p_value:.3f}" if comparison.p_value is not None else ""
    unpaired = f"; {counted(comparison.unpaired, 'run')} without a partner" if comparison.unpaired else ""
    over = f"over {counted(comparison.pairs, 'pair')}{unpaired}"
    lines = [f"{pair}: {comparison.difference.mean:+.1f} points{interval}{why}{p_value}, {over}"]
    if (needed := comparison.units_needed.get(difference)) is not None:
        low, high = comparison.units_needed_range.get(difference, (needed, needed))
        between = f" (between {low} and {high})" if low != high else ""
        pairs = f"about {needed} pairs of scenario and seed{between}; there are {comparison.units}"
        lines.append(f"  a difference of {counted(difference, 'point')} needs {pairs}")
    return lines
