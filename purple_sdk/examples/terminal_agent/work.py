"""What became of a terminal task, as the participant reports it."""

from dataclasses import dataclass, field
from typing import Any

from purple_sdk.protocol.provenance import ModelUse
from purple_sdk.protocol.terminal import FailureMode


@dataclass
class Work:
    """What became of a task."""

    summary: str = ""
    failure_mode: FailureMode = FailureMode.NONE
    commands: int = 0
    iterations: int = 0
    stopped_by: str | None = None
    usage: list[ModelUse] = field(default_factory=list)

    def as_data(self) -> dict[str, Any]:
        """For the evaluator."""
        return {
            "message_type": "terminal_task_end",
            "summary": self.summary,
            "commands": self.commands,
            "iterations": self.iterations,
            "stopped_by": self.stopped_by,
            "usage": [use.model_dump(mode="json", exclude_none=True) for use in self.usage],
            **({} if self.failure_mode == FailureMode.NONE else {"failure_mode": str(self.failure_mode)}),
        }
