"""``make calibrate``: a small real model, served on this machine, judges the cases of the shipped scenarios.

The model is far too small to judge well, and the figures say so; what this shows is that calibrating works from end to
end with a real server, real refusals and real token counts. All arguments go to ``proctor judge calibrate``.

With ``--assessments`` it judges a whole assessment of each scenario instead, the ideal participant's: every criterion
that has no evaluator, then what the evaluators look for in texts. It prints time and tokens of each criterion as it is
done, and stops after ``--minutes``.
"""

import argparse
import asyncio
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from typing import Any

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.outputs import LLMResult

from proctor.activities.plan import CriterionBrief
from purple_sdk.protocol.results import CriterionResult, score_range
from tests.judge_tokens import DAYS
from tests.scenarios.playing import Judging, rehearsing
from tests.served_model import MODEL, served_model

SCENARIOS = tuple(DAYS)


def main() -> int:
    """Calibrate on every scenario; the exit code is that of the first that fails."""
    reader = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    reader.add_argument("--limit", default="24", help="cases a scenario; all: as many as it ships")
    reader.add_argument("--max-tokens", default="400", help="the longest answer, in tokens")
    # Threads that wait for each other crawl where others use the machine, too.
    reader.add_argument("--threads", type=int, default=os.cpu_count() or 1, help="1 on a busy machine")
    reader.add_argument("--assessments", action="store_true", help="judge a whole assessment of each scenario")
    reader.add_argument("--scenario", choices=SCENARIOS, action="append", help="only this one")
    reader.add_argument("--window", type=int, default=24_000, help="with --assessments: characters read at once")
    reader.add_argument("--minutes", type=float, default=60.0, help="with --assessments: begin no criterion after")
    given, more = reader.parse_known_args()
    limit = [] if given.limit == "all" else ["--limit", given.limit]
    with served_model(given.threads) as url:
        if given.assessments:
            settings = {
                "evaluation_model": MODEL,
                "evaluation_base_url": f"{url}/v1",
                "judge_window": given.window,
                "judge_max_tokens": int(given.max_tokens),
                "judge_timeout": 1800.0,
            }
            return asyncio.run(judge_assessments(given.scenario or SCENARIOS, settings, 60 * given.minutes))
        environment = {
            **os.environ,
            "AGENTBEATS_GREEN_JUDGE_MAX_TOKENS": given.max_tokens,
            "AGENTBEATS_GREEN_JUDGE_TIMEOUT": "600",
        }
        for scenario in given.scenario or SCENARIOS:
            command = [sys.executable, "-m", "proctor", "judge", "calibrate", scenario, "--model", MODEL]
            command += ["--base-url", f"{url}/v1", "--at-once", "1", *limit, *more]
            if code := subprocess.run(command, env=environment, check=False).returncode:
                return code
    return 0


class _Calls(BaseCallbackHandler):
    """Prints each answer of the model as it comes: a long judgement may be broken off, and what is done is known."""

    def __init__(self) -> None:
        self._calls, self._began = 0, time.monotonic()

    def on_llm_error(self, error: BaseException, **_given: Any) -> None:
        self._calls += 1
        print(
            f"    answer {self._calls} after {time.monotonic() - self._began:.0f} s: {error}",
            file=sys.stderr,
            flush=True,
        )

    def on_llm_end(self, response: LLMResult, **_given: Any) -> None:
        message = getattr(response.generations[0][0], "message", None)
        usage = getattr(message, "usage_metadata", None) or {}
        cached = (usage.get("input_token_details") or {}).get("cache_read", 0)
        self._calls += 1
        print(
            f"    answer {self._calls} after {time.monotonic() - self._began:.0f} s: {usage.get('input_tokens', 0):,} "
            f"tokens in, {cached:,} of them cached, {usage.get('output_tokens', 0):,} out",
            file=sys.stderr,
            flush=True,
        )


async def judge_assessments(scenarios: Sequence[str], settings: dict[str, Any], seconds: float) -> int:
    """Have the model judge the ideal participant's day in each scenario, and print what it took; 0 for all of them."""
    end = time.monotonic() + seconds
    left_out: list[str] = []
    for scenario_id in scenarios:
        took: list[tuple[CriterionResult, float]] = []

        def told(verdict: CriterionResult, spent: float, took: list[tuple[CriterionResult, float]] = took) -> None:
            took.append((verdict, spent))
            print(_line(verdict.criterion_id, [(verdict, spent)]), flush=True)

        def is_wanted(criterion: CriterionBrief) -> bool:
            if time.monotonic() > end:
                left_out.append(criterion.criterion_id)
            return time.monotonic() <= end

        print(f"{scenario_id}, the ideal participant's day, judged by {settings['evaluation_model']}", flush=True)
        with rehearsing(on_answer=_Calls(), **settings) as rehearsal:
            await rehearsal.play(scenario_id, DAYS[scenario_id], Judging(is_wanted, told))
        print(_line("all of these", took), flush=True)
    if left_out:
        print(f"not judged in the time that was given: {', '.join(left_out)}")
    return 1 if left_out else 0


def _line(what: str, took: Sequence[tuple[CriterionResult, float]]) -> str:
    uses = [use for verdict, _ in took for use in verdict.usage]
    calls, given, cached, out = (
        sum(getattr(use, name) or 0 for use in uses)
        for name in ("calls", "input_tokens", "cached_tokens", "output_tokens")
    )
    score, most = (sum(getattr(verdict, name) for verdict, _ in took) for name in ("score", "max_score"))
    doubtful, doubts = sum(v.doubtful_points for v, _ in took), sum(len(v.doubts) for v, _ in took)
    seconds = sum(spent for _, spent in took)
    return (
        f"  {what:<20} {score_range(score, doubtful):>9} of {most:<3} {doubts:>3} doubts {seconds:>7.1f} s"
        f" {calls:>4} calls, tokens: {given:>7,} in, {cached:>7,} of them cached, {out:>6,} out"
    )


if __name__ == "__main__":
    sys.exit(main())
