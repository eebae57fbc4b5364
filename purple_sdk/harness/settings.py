"""The settings of a CLI agent as a participant."""

from pathlib import Path
from typing import Annotated

from pydantic import Field
from pydantic_settings import SettingsConfigDict

from proctor_settings.config import PurpleAgentConfig, ReadBy

_HERE = ReadBy("purple_sdk.harness")


class HarnessConfig(PurpleAgentConfig):
    """``AGENTBEATS_PURPLE_*`` and flags."""

    model_config = SettingsConfigDict(env_prefix="AGENTBEATS_PURPLE_", extra="ignore", frozen=True)

    model: str = Field(default="", description="Model that the agent asks.")
    harness: Annotated[str, _HERE] = Field(default="claude-code", description="Name of the CLI agent.")
    program: Annotated[str | None, _HERE] = Field(
        default=None, description="The CLI agent's executable, where it isn't the installed one."
    )
    turn_seconds: Annotated[float, _HERE] = Field(
        default=280.0, gt=0, le=86_400, description="Seconds after which a turn of the CLI agent is stopped."
    )
    tokens_per_turn: Annotated[int, _HERE] = Field(
        default=5_000_000, ge=500, description="Limit of tokens in a turn, those of prompts and answers together."
    )
    homes: Annotated[Path, _HERE] = Field(
        default=Path("~/.local/state/proctor/harness-homes"),
        description="Folder of the CLI agents' home folders, one for each assessment.",
    )
    keep_homes: Annotated[bool, _HERE] = Field(default=False, description="Keep the home folders of ended assessments.")
