"""``python -m tests.agents [NAME…] [--family FAMILY]``: install CLI agents and play a day with each, by a script.

The model asks for what the day's oracle does, so a CLI agent that works earns all points. Some 2 GB are installed. With
``--small`` a small real model on this machine plays the first turn instead, and is installed: its scores are poor, its
tokens real.
"""

import argparse
import asyncio
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from proctor.local.harness_runs import HarnessChoice, serving_harness
from proctor.storage.archive import Archive
from proctor.viewer.trajectories import read_trajectory
from purple_sdk.harness.clis import HARNESSES, find_harness
from purple_sdk.harness.declared import HarnessError
from purple_sdk.harness.installing import find_program, install
from purple_sdk.protocol.results import AssessmentResults
from tests.oracle_script import oracle_script
from tests.scripted_model import ScriptedModel
from tests.served_model import MODEL, PACKAGES
from tests.small_endpoint import small_endpoint
from tests.stack import Stack, assess, running_stack

DIFFICULTY, SEED = 1, 1


def transcripts(stack: Stack, results: AssessmentResults) -> str:
    """How many turns have a transcript in the viewer, and its steps."""
    archive = Archive(stack.config.archive_url)
    entry = archive.get(results.assessment_id)
    views = [entry and read_trajectory(archive, entry, turn) for turn in range(1, results.turns_taken + 1)]
    steps = sum(len(view.steps) for view in views if view)
    return f"{sum(map(bool, views))} of {len(views)} turns shown in the viewer, {steps} steps"


@contextmanager
def scripted(family: str) -> Iterator[tuple[str, str]]:
    """A model's name and address: it asks for what the oracle does."""
    with ScriptedModel(oracle_script(family, DIFFICULTY, SEED)) as model:
        yield "scripted-1", model.url


@contextmanager
def small() -> Iterator[tuple[str, str]]:
    """A model's name and address: a real one."""
    subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", *PACKAGES.split()], check=True)
    with small_endpoint(threads=os.cpu_count() or 1) as url:
        yield MODEL.partition("/")[2], url


async def play(names: Sequence[str], family: str, *, is_small: bool) -> int:
    """Play with each; the number that did not earn all points, or with a small model did not play to the end."""
    wrong = 0
    limits = {"max_turns": 1, "turn_timeout": 1200} if is_small else {}
    with running_stack() as stack, small() if is_small else scripted(family) as (model, model_url):
        for name in names:
            began = time.monotonic()
            choice = HarnessChoice(name, model, model_url, turn_timeout=limits.get("turn_timeout"))
            async with serving_harness(choice, stack.gateway_url) as url:
                assessed = await assess(stack, url, family, difficulty=DIFFICULTY, seed=SEED, **limits)
            results = assessed.results
            scores = results.scores.overall if results else None
            wrong += scores is None or (scores.score < scores.max_score and not is_small)
            tokens = sum(use.input_tokens + use.output_tokens for use in results.participant_usage) if results else 0
            points = f"{scores.score}/{scores.max_score} points" if scores else assessed.sentence
            shown = transcripts(stack, results) if results else "no transcript"
            print(f"{name:<12} {points}, {tokens:,} tokens, {shown}, {time.monotonic() - began:.0f} s", flush=True)
    return wrong


async def main(names: Sequence[str], family: str, *, is_small: bool) -> int:
    """Install what is missing, then play."""
    for name in names:
        try:
            find_program(find_harness(name))
        except HarnessError:
            print(f"installing {name} ...", flush=True)
            await install(find_harness(name))
    return await play(names, family, is_small=is_small)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--family", default="clear_the_day")
    parser.add_argument("--small", action="store_true", help="with a small real model, one turn")
    chosen = parser.parse_args()
    known = [name for name, harness in HARNESSES.items() if harness.packages and harness.has_mcp]
    sys.exit(bool(asyncio.run(main(chosen.names or known, chosen.family, is_small=chosen.small))))
