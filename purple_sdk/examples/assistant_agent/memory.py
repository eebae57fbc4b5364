"""The agent's memory from turn to turn, and the part of it that goes into a prompt."""

from collections.abc import Sequence
from dataclasses import dataclass, field

CHARACTERS_A_TOKEN = 4
"""A rough measure that holds for most tokenizers and European languages."""


def estimate_tokens(text: str) -> int:
    """Estimate the tokens of a text."""
    return len(text) // CHARACTERS_A_TOKEN + 1


def cut(text: str, most_tokens: int) -> str:
    """Return a text's beginning, with a mark if something is missing."""
    most = most_tokens * CHARACTERS_A_TOKEN
    return text if len(text) <= most else f"{text[:most]} [... {len(text) - most} more characters]"


@dataclass
class Memory:
    """A diary: one entry a turn, with its actions and thoughts."""

    entries: list[str] = field(default_factory=list)

    def add(self, title: str, actions: Sequence[str], thoughts: str, most_tokens: int) -> None:
        """Write a turn's entry, with a limited number of tokens."""
        lines = [title, *(f"- {action}" for action in actions), thoughts.strip()]
        self.entries.append(cut("\n".join(line for line in lines if line), most_tokens))

    def recall(self, most_tokens: int) -> str:
        """Return as many of the latest entries as fit, oldest first."""
        chosen: list[str] = []
        room = most_tokens
        for entry in reversed(self.entries):
            room -= estimate_tokens(entry)
            if room < 0:
                chosen.append(f"({len(self.entries) - len(chosen)} earlier turns are forgotten)")
                break
            chosen.append(entry)
        return "\n\n".join(reversed(chosen))
