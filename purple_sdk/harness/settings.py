"""The settings of a CLI agent as a participant."""

from pathlib import Path

from pydantic import Field
from pydantic_settings import SettingsConfigDict

from proctor_settings.config import PurpleAgentConfig


class HarnessConfig(PurpleAgentConfig):
    """``AGENTBEATS_PURPLE_*`` and flags.

    ``harness`` is the CLI agent's name, ``program`` its executable where it isn't to be looked for. ``turn_seconds`` is
    how long it may take for a turn; ``homes`` is the folder of its home folders.
    """

    model_config = SettingsConfigDict(env_prefix="AGENTBEATS_PURPLE_", extra="ignore", frozen=True)

    model: str = Field(default="", description="Model that the agent asks.")
    harness: str = Field(default="claude-code", description="Name of the CLI agent.")
    program: str | None = Field(default=None, description="The CLI agent's executable.")
    turn_seconds: float = Field(default=280.0, gt=0, le=86_400, description="Seconds for a turn, at most.")
    tokens_per_turn: int = Field(default=5_000_000, ge=500, description="Tokens of prompts and answers in a turn.")
    homes: Path = Field(default=Path.home() / ".local/state/proctor/harness-homes", description="Home folders.")
    keep_homes: bool = Field(default=False, description="Keep the home folders of ended assessments.")
