"""``make assistant``: the example assistant plays one turn of each scenario with a small real model on this machine.

The model is far too small to help anybody; what this shows is that the agent copes with a real server, a real context
limit, answers that are half JSON, and real token counts. With ``--families`` it plays a day of each family instead,
and prints a table.
"""

import argparse
import asyncio
import os
import sys
import time
from datetime import datetime
from typing import Any

from proctor.local.audit.plays import Stage
from proctor.scenarios.kit.making.days import Day, make_day
from purple_sdk.examples.assistant_agent import AssistantAgent
from purple_sdk.settings.config import PurpleAgentConfig
from purple_sdk.ues import AsyncUESClient
from tests.calibrate import SCENARIOS
from tests.purple_sdk.played import PlayedAgent
from tests.scenarios.playing import Rehearsal, rehearsing
from tests.served_model import MODEL, served_model
from tests.stack import SCENARIOS as PACKAGES

FAMILIES = PACKAGES / "families"


async def play(rehearsal: Rehearsal, scenario: str, config: PurpleAgentConfig) -> None:
    """Play a scenario's first turn, and tell what came of it."""
    played = PlayedAgent(AssistantAgent(config))

    async def one_turn(turn: int, ues: Any, now: Any) -> Any:
        if turn == 1:
            return (await played(turn, ues, now)).model_copy(update={"time_step": "P2D"})
        raise AssertionError("there is a second turn")

    results = await rehearsal.play(scenario, one_turn)
    [answer] = played.answers
    for usage in answer.model_usage:
        print(f"{scenario}: {usage.calls} calls, {usage.input_tokens} tokens in, {usage.output_tokens} out")
    print(f"{scenario}: actions {[(entry.action, entry.success) for entry in results.action_log]}")
    print(f"{scenario}: notes {getattr(answer, 'notes', None)!r}")
    print(f"{scenario}: {results.scores.overall.score}/{results.scores.overall.max_score}", flush=True)


async def play_day(family: str, day: Day, config: PurpleAgentConfig, turns: int) -> str:
    """Play the first turns of a day, or of one role's side of it; a line of the table."""
    played = PlayedAgent(AssistantAgent(config))

    async def turn(number: int, now: datetime, client: AsyncUESClient) -> None:
        if number < turns:
            await played(number + 1, client, now)

    began = time.monotonic()
    outcome = await Stage(day).play(turn)
    usages = [usage for answer in played.answers for usage in answer.model_usage]
    cells = (
        f"{family}, {day.role}" if day.role else family,
        f"{sum(usage.calls for usage in usages)}",
        f"{sum(usage.input_tokens for usage in usages):,}",
        f"{sum(usage.output_tokens for usage in usages):,}",
        f"{sum(entry.success for entry in outcome.log)} of {len(outcome.log)}",
        f"{sum(outcome.points.values()):g} of {outcome.maximum}",
        f"{time.monotonic() - began:.0f}",
    )
    return f"| {' | '.join(cells)} |"


async def play_families(config: PurpleAgentConfig, difficulty: int, seed: int, turns: int) -> None:
    """Play a day of each family and print a line for each, in one loop: the model's connections belong to it."""
    print("| family | model calls | tokens in | out | actions that came about | points | seconds |")
    print("| --- |" + " --- |" * 6)
    for directory in sorted(path.parent for path in FAMILIES.glob("*/family.py")):
        day = make_day(directory, difficulty, seed)
        for side in day.sides or (day,):
            print(await play_day(directory.name, side, config, turns), flush=True)


def main() -> int:
    """Play every scenario, or a day of every family."""
    reader = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    reader.add_argument("--threads", type=int, default=os.cpu_count() or 1, help="1 on a busy machine")
    reader.add_argument("--tokens", type=int, default=12_000, help="what a turn may take")
    reader.add_argument("--context", type=int, default=5_000, help="what the model gets to read at once, in tokens")
    reader.add_argument("--answer-tokens", type=int, default=200, help="the longest answer")
    reader.add_argument("--families", action="store_true", help="play a whole day of each family")
    reader.add_argument("--difficulty", type=int, default=1)
    reader.add_argument("--seed", type=int, default=1)
    reader.add_argument("--turns", type=int, default=1000, help="of a family's day, after which the agent does nothing")
    reader.add_argument("--tool-calling", default="auto", choices=["auto", "native", "json"])
    given = reader.parse_args()
    with served_model(given.threads) as url:
        config = PurpleAgentConfig(
            model=MODEL,
            model_base_url=f"{url}/v1",
            tool_calling=given.tool_calling,
            temperature=0.2,
            enable_reflection=False,
            context_tokens=given.context,
            answer_tokens=given.answer_tokens,
            tokens_per_turn=given.tokens,
        )
        if given.families:
            asyncio.run(play_families(config, given.difficulty, given.seed, given.turns))
            return 0
        with rehearsing() as rehearsal:
            for scenario in SCENARIOS:
                asyncio.run(play(rehearsal, scenario, config))
    return 0


if __name__ == "__main__":
    sys.exit(main())
