"""Phrases in the output of commands: counts, actions (``email.label 4 → urgent``), comparisons of agents.

Participants' texts are cleaned of control characters before they reach a terminal.
"""

import unicodedata
from collections.abc import Mapping, Sequence

from proctor.protocol.action_words import find_heading, find_targets, find_text, list_ids
from proctor.protocol.updates import ActionObservedUpdate
from purple_sdk.protocol.statistics import Comparison, Estimate

_LONGEST_TEXT = 40


def clean(text: str) -> str:
    """A text on one line, without control, formatting and surrogate characters (Unicode categories C*)."""
    spaced = "".join(" " if character.isspace() else character for character in text)
    return " ".join("".join(c for c in spaced if not unicodedata.category(c).startswith("C")).split())


def shorten(text: str, longest: int = _LONGEST_TEXT) -> str:
    """A clean text of at most ``longest`` characters; a longer one is cut."""
    text = clean(text)
    return text if len(text) <= longest else text[: longest - 1].rstrip() + "…"


def counted(number: int, noun: str, plural: str | None = None) -> str:
    """A number with its noun: ``1 turn``, ``2 turns``. The default ``plural`` is the noun with an ``s``."""
    return f"{number} {noun if number == 1 else plural or noun + 's'}"


def phrases(actions: Sequence[ActionObservedUpdate]) -> list[str]:
    """Summarize actions: one phrase for each kind, in order of appearance, with a count for each target."""
    kinds: dict[tuple[str, bool], dict[str, list[ActionObservedUpdate]]] = {}
    for action in actions:
        targets = kinds.setdefault((clean(action.action), action.success), {})
        targets.setdefault(shorten(find_targets(action.parameters)), []).append(action)
    return [_phrase(name, success, targets) for (name, success), targets in kinds.items()]


def _phrase(name: str, success: bool, targets: Mapping[str, Sequence[ActionObservedUpdate]]) -> str:
    parts = []
    for target, group in targets.items():
        count = sum(max(len(list_ids(action.parameters)), 1) for action in group)
        words = [str(count)] if count > 1 or len(targets) > 1 else []
        words += [f"→ {target}"] if target else []
        text = shorten(find_heading(group[0].parameters) or find_text(group[0].parameters))
        if count == 1 and len(targets) == 1 and text:
            words.append(f"“{text}”")
        parts.append(" ".join(words))
    phrase = f"{name} {', '.join(parts)}".strip()
    if not success:
        first = next(iter(targets.values()))[0]
        phrase += f" failed ({shorten(first.error_message or 'no reason given', 60)})"
    return phrase


def interval_in_words(estimate: Estimate | None) -> str:
    """A 95 % interval in words; "" if there is none."""
    if estimate is None or estimate.low is None or estimate.high is None:
        return ""
    return f"{estimate.low:.1f} to {estimate.high:.1f}"


def comparison_in_words(comparison: Comparison, difference: int = 5) -> list[str]:
    """Compare two agents in two lines.

    The first line has the means, and their difference with its interval. The second line says how many pairs would show
    a ``difference`` (in points).
    """
    pair = f"{clean(comparison.first)} less {clean(comparison.second)}"
    if comparison.difference is None:
        return [f"{pair}: never judged on the same scenario, seed and repeat"]
    interval = f" ({interval_in_words(comparison.difference)})" if comparison.difference.low is not None else ""
    why = f" (no interval and no p: {comparison.difference.why})" if comparison.difference.why else ""
    p_value = f", p = {comparison.p_value:.3f}" if comparison.p_value is not None else ""
    one, other = comparison.first_percent, comparison.second_percent
    means = "" if one is None or other is None else f" ({one:.1f}% and {other:.1f}%)"
    alone = counted(comparison.unpaired, "run")
    unpaired = f"; the means are of these pairs, without {alone} that lack a partner" if comparison.unpaired else ""
    over = f"over {counted(comparison.pairs, 'pair')}{means}{unpaired}"
    lines = [f"{pair}: {comparison.difference.mean:+.1f} points{interval}{why}{p_value}, {over}"]
    if (needed := comparison.units_needed.get(difference)) is not None:
        low, high = comparison.units_needed_range.get(difference, (needed, needed))
        between = f" (between {low} and {high})" if low != high else ""
        pairs = f"about {needed} pairs of scenario and seed{between}; there are {comparison.units}"
        lines.append(f"  a difference of {counted(difference, 'point')} needs {pairs}")
    return lines
