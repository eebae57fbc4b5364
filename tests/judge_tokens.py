"""What judging one assessment of each shipped scenario takes in tokens: ``python -m tests.judge_tokens``.

The ideal participant's day is judged by a scripted endpoint, which sees the prompts as a provider does. A token is
counted as four characters. A provider serves from its cache what a prompt shares with the beginning of an earlier one
(in blocks of 128 tokens, from 1,024 on, as OpenAI describes it for its models); everything else is billed uncached.
*Before* is the same with the criterion first and the evidence after it, as it was once: nothing is shared then.
"""

import asyncio
import re
from collections.abc import Sequence
from dataclasses import dataclass

from purple_sdk.protocol.results import CriterionResult
from tests.openai_endpoint import OpenAIEndpoint
from tests.scenarios.playing import Judging, rehearsing
from tests.scenarios.reschedule_day_scripts import IDEAL as RESCHEDULE_IDEAL
from tests.scenarios.reschedule_day_scripts import script
from tests.scenarios.triage_participant import IDEAL as TRIAGE_IDEAL
from tests.stack import Script

DAYS: dict[str, Script] = {"email_triage_basic": TRIAGE_IDEAL, "reschedule_day": script(RESCHEDULE_IDEAL)}
_CHARACTERS = 4
_BLOCK, _SHORTEST = 128, 1024


@dataclass(frozen=True)
class Tokens:
    """Input tokens of some calls."""

    calls: int
    all: int
    uncached: int
    uncached_before: int

    def row(self, what: str) -> str:
        """One line of the table."""
        cached = self.all - self.uncached
        return f"{what:<44}{self.calls:>6}{self.all:>10,}{cached:>10,}{self.uncached:>10,}{self.uncached_before:>10,}"


@dataclass(frozen=True)
class Judged:
    """What one assessment's judging took: one criterion alone, all criteria without an evaluator, facts in texts."""

    one: Tokens
    criteria: int
    by_model: Tokens
    texts: Tokens
    verdicts: tuple[CriterionResult, ...]


def counted(prompts: Sequence[str]) -> Tokens:
    """The tokens of prompts that are sent one after the other."""
    total, uncached, seen = 0, 0, list[str]()
    for prompt in prompts:
        tokens = len(prompt) // _CHARACTERS
        shared = max((_shared(prompt, earlier) for earlier in seen), default=0) // _CHARACTERS // _BLOCK * _BLOCK
        total += tokens
        uncached += tokens - (shared if shared >= _SHORTEST else 0)
        seen.append(prompt)
    return Tokens(len(prompts), total, uncached, total)


def _shared(one: str, other: str) -> int:
    low, high = 0, min(len(one), len(other))
    while low < high:  # they share some beginning; by halves, since Python compares that quickly
        middle = (low + high + 1) // 2
        low, high = (middle, high) if one.startswith(other[:middle]) else (low, middle - 1)
    return low


def nothing_bears_on_it(prompt: str) -> dict[str, object]:
    """A verdict that can be believed whatever the evidence: no record bears on any item."""
    asked = prompt.rpartition("Now judge this criterion:")[2]
    ids = re.findall(r"^- (\S+) \(\d+ points?;", asked, re.MULTILINE)
    items = [{"id": name, "quotes": [], "reason": "nothing", "points": None} for name in ids]
    return {"items": items, "explanation": "nothing"}


async def judged(scenario_id: str, *, with_texts: bool = True) -> Judged:
    """Play the ideal day, have it judged by a scripted endpoint, and count; ``with_texts`` also what evaluators ask."""
    verdicts: list[CriterionResult] = []
    ends: list[int] = []
    with OpenAIEndpoint() as endpoint:
        endpoint.answer("Now judge this criterion", nothing_bears_on_it)

        def done(verdict: CriterionResult, _seconds: float) -> None:
            verdicts.append(verdict)
            ends.append(endpoint.calls)

        model = {"evaluation_model": "openai/counted", "evaluation_base_url": endpoint.base_url}
        with rehearsing(**model) as rehearsal:
            await rehearsal.play(
                scenario_id, DAYS[scenario_id], Judging(lambda each: with_texts or each.by_model, done)
            )
        prompts = endpoint.prompts
    criteria = sum(not verdict.judged_by.startswith("evaluator") for verdict in verdicts)
    return Judged(
        one=counted(prompts[: ends[0]]),
        criteria=criteria,
        by_model=counted(prompts[: ends[criteria - 1]]),
        texts=counted(prompts[ends[criteria - 1] :]),
        verdicts=tuple(verdicts),
    )


def main() -> None:
    """Print the table."""
    print(
        f"{'input tokens (4 characters each)':<44}{'calls':>6}{'all':>10}{'cached':>10}{'uncached':>10}{'before':>10}"
    )
    for scenario_id in DAYS:
        found = asyncio.run(judged(scenario_id))
        print(found.one.row(f"{scenario_id}: one criterion"))
        print(found.by_model.row(f"  {found.criteria} criteria that a model judges"))
        print(found.texts.row("  facts in texts, for evaluators"))
        ratio = found.by_model.uncached / found.one.uncached
        print(f"  uncached, {found.criteria} criteria to one: {ratio:.2f} (before: {found.criteria:.2f})")


if __name__ == "__main__":
    main()
