"""Add noise to MCP tools: unusual names and words, drawn from an assessment's seed."""

from collections.abc import Iterable

from proctor.ues.noise import draw

_RENAMED = {2: 0.3, 3: 0.7}
"""The share of the tools with changed names and words, by level of noise."""

_VERBS = {
    "Read": "Get",
    "Search:": "Find entries:",
    "List": "Show",
    "Send": "Write and send",
    "Create": "Add",
    "Change": "Update",
    "Delete": "Remove",
    "Mark": "Flag",
    "Move": "Put",
    "Answer": "Respond to",
}


def drawn_names(names: Iterable[str], seed: int, level: int) -> dict[str, str]:
    """Return the shown names of tools, by their usual names; each is unique."""
    usual = list(names)
    shown: dict[str, str] = {}
    for name in usual:
        other = _other_name(name, seed) if is_renamed(name, seed, level) else name
        shown[name] = name if other in usual or other in shown.values() else other
    return shown


def is_renamed(name: str, seed: int, level: int) -> bool:
    """Whether a tool has a changed name and changed words."""
    return draw(seed, "tool", name) < _RENAMED.get(level, 0.0)


def reworded(summary: str) -> str:
    first, _, rest = summary.partition(" ")
    return f"{_VERBS.get(first, f'Tool: {first}')} {rest}".strip()


def _other_name(name: str, seed: int) -> str:
    words = name.split("_")
    ways = ("_".join([*words[1:], words[0]]), f"{name}_v2", f"{name}_item", f"do_{name}")
    return ways[int(draw(seed, "tool", name, "way") * len(ways))]
