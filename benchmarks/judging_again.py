"""``proctor judge again`` on a campaign: ``python -m benchmarks.judging_again [--runs 500]``.

Players that slip at some points play days of all families with one participant in this process. The days are really
archived, then judged again: by their frozen evaluators, whose verdicts have to be equal word for word, and by today's.
It prints the duration of each.
"""

import argparse
import asyncio
import json
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import closing
from itertools import cycle, islice, product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from proctor.local.rehearsal import Rehearsal
from proctor.scenarios.kit.making.days import make_day
from purple_sdk.protocol.results import AssessmentResults
from tests.archived import Archived, archive_campaign, with_lapses
from tests.stack import SCENARIOS

_RATES = (0.0, 0.1, 0.4)
_CAMPAIGN = "judged-again"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=500)
    parser.add_argument("--keep", type=Path, help="a folder for the archive, which stays")
    asked = parser.parse_args()
    with TemporaryDirectory(prefix="judging-again-") as temporary:
        folder = (asked.keep or Path(temporary)).absolute()
        began = time.monotonic()
        play(folder, asked.runs)
        print(f"{asked.runs} runs played and archived in {time.monotonic() - began:.0f} s")
        print("| evaluators | seconds | runs | the same word for word | other points | not judged |")
        print("| --- | --- | --- | --- | --- | --- |")
        for name, flags in (("frozen", []), ("frozen, a second time", []), ("today's", ["--current"])):
            shift = judge(folder, flags)
            figures = (shift["seconds"], shift["runs"], shift["equal"], shift["changed"], len(shift["not_judged"]))
            print(f"| {name} | {' | '.join(map(str, figures))} |", flush=True)


def play(folder: Path, count: int) -> None:
    """Play days of families, several at a time, and archive them."""
    families = sorted(path.parent for path in (SCENARIOS / "families").glob("*/family.toml"))
    families = [family for family in families if not make_day(family, 1, 1).sides]
    days = islice(product(range(1, 1000), (1, 2, 3, 4), families), count)

    async def play_all() -> list[AssessmentResults]:
        turns = asyncio.Semaphore(4)

        async def play_one(seed: int, difficulty: int, family: Path, rate: float) -> AssessmentResults:
            async with turns:
                script = with_lapses(await asyncio.to_thread(make_day, family, difficulty, seed), rate)
                played = Archived(rehearsal)
                return await played.play_and_archive(
                    family.name, script, seed, campaign=_CAMPAIGN, agent="graded", difficulty=difficulty
                )

        return await asyncio.gather(*(play_one(*day, rate) for day, rate in zip(days, cycle(_RATES))))

    settings = {"state": str(folder), "archive_url": str(folder / "archive")}
    with closing(Rehearsal(folder / "storage", SCENARIOS, **settings)) as rehearsal:
        results = rehearsal.run(play_all()).result()
        archive_campaign(rehearsal.config, _CAMPAIGN, results, "graded")


def judge(folder: Path, flags: Sequence[str]) -> dict[str, Any]:
    """Judge the campaign again by the command, and return the shift as JSON."""
    places = ["--state", str(folder), "--archive", str(folder / "archive"), "--storage", str(folder / "storage")]
    command = [sys.executable, "-m", "proctor", "judge", "again", _CAMPAIGN, "--json", *places, *flags]
    ended = subprocess.run(command, stdout=subprocess.PIPE, check=False)
    shift: dict[str, Any] = json.loads(ended.stdout)
    return shift


if __name__ == "__main__":
    main()
