"""An agent that does what the evaluator's instructions (JSON) say, and tells what it remembers.

``{"slow": {"turn.try": seconds}, "failing_tries": {"turn": tries}, "nonsense": [turn], "early": turn, "enough": turn,
"refuse": true, "held": turn, "gate": path}``. The turn that is held ends when there is a file at the gate.
"""

import asyncio
import json
from pathlib import Path
from typing import Any, ClassVar

from purple_sdk import BasePurpleAgent, serve
from purple_sdk.protocol.messages import AssessmentStartMessage, EarlyCompletionMessage, TurnCompleteMessage
from purple_sdk.settings.config import PurpleAgentConfig


class ProbeAgent(BasePurpleAgent):
    name: ClassVar[str] = "probe"
    playing: ClassVar[int] = 0  # turns that run in this process right now
    started: ClassVar[int] = 0

    def __init__(self, config: PurpleAgentConfig) -> None:
        super().__init__(config)
        self.state = {"turns": []}
        self.plan: dict[str, Any] = {}

    async def on_assessment_start(self, message: AssessmentStartMessage) -> None:
        self.plan = json.loads(self.instructions or "{}")
        if self.plan.get("refuse"):
            raise RuntimeError("no assessments today")

    async def execute_turn(self) -> TurnCompleteMessage | EarlyCompletionMessage:
        turn, plan = self.turn_number, self.plan
        ProbeAgent.playing += 1
        ProbeAgent.started += 1
        self.state["turns"].append(f"{turn}.{self.attempt}")
        try:
            await asyncio.sleep(plan.get("slow", {}).get(f"{turn}.{self.attempt}", 0))
            while turn == plan.get("held") and not Path(plan["gate"]).exists():
                await asyncio.sleep(0.02)
            if self.attempt <= plan.get("failing_tries", {}).get(str(turn), 0):
                raise RuntimeError("lost my keys")
            if turn in plan.get("nonsense", []):
                return "nonsense"  # type: ignore[return-value]
            if turn == plan.get("early"):
                return EarlyCompletionMessage(reason="all done")
            self.note_model_use("oracle", input_tokens=10 * turn, output_tokens=turn)
            notes = {"turns": self.state["turns"], "playing": ProbeAgent.playing, "started": ProbeAgent.started}
            return self.complete_turn(notes=json.dumps(notes))
        finally:
            ProbeAgent.playing -= 1

    async def should_complete_early(self) -> tuple[bool, str | None]:
        return self.turn_number == self.plan.get("enough"), "enough is enough"


if __name__ == "__main__":
    serve(ProbeAgent, PurpleAgentConfig.from_cli_args(), keep_alive=0.1)
