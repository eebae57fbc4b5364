"""Reward files: ``reward.json`` or ``reward.txt``, which a verifier of the second format writes."""

import json
import math
from collections.abc import Mapping

from proctor_terminal.parsers.verdicts import UnparsableError

JSON, TEXT = "reward.json", "reward.txt"


def parse(files: Mapping[str, bytes]) -> dict[str, float]:
    """The numbers of a reward file by name; a single one is called ``reward``. ``reward.json`` goes first.

    Raises:
        UnparsableError: the file is missing, or its content isn't a finite number.
    """
    if JSON in files:
        try:
            value = json.loads(files[JSON])
        except ValueError as problem:
            raise UnparsableError(f"{JSON} isn't JSON ({problem}): write numbers by name there") from None
        named = value if isinstance(value, dict) else {"reward": value}
        for name, each in named.items():
            if isinstance(each, bool) or not isinstance(each, int | float) or not math.isfinite(each):
                raise UnparsableError(f"{JSON}: {name} is {json.dumps(each)[:80]}: write a finite number")
        if not named:
            raise UnparsableError(f"{JSON} has no numbers: write them by name there")
        return {str(name): float(each) for name, each in named.items()}
    if TEXT in files:
        text = files[TEXT].decode(errors="replace").strip()
        try:
            number = float(text)
        except ValueError:
            number = math.nan
        if not math.isfinite(number):
            raise UnparsableError(f'{TEXT} is "{text[:80]}": write a finite number there')
        return {"reward": number}
    raise UnparsableError("The tests wrote neither /logs/verifier/reward.txt nor reward.json: see in the log why")


def reward_of(rewards: Mapping[str, float]) -> float:
    """The one number of a trial: ``reward`` where there is one by that name, the mean of all where not; 0 to 1.

    Raises:
        UnparsableError: it is not between 0 and 1.
    """
    reward = rewards["reward"] if "reward" in rewards else sum(rewards.values()) / len(rewards)
    if not 0 <= reward <= 1:
        raise UnparsableError(f"The reward is {reward:g}: write a number between 0 and 1")
    return reward
