"""Scenarios whose code does harm, all at once, beside one whose doesn't: each fails in its own judging, and nobody
else. What every attack comes to is in ``tests/activities``; ``make nightly`` plays all of them.
"""

import asyncio
import os
from pathlib import Path

from proctor.client.replay import choose, reset, reset_points
from proctor.storage.temporal import connect
from purple_sdk.protocol.results import AssessmentResults
from tests.assessments.packages import TINY, write_package
from tests.assessments.scripts import diligent, idle
from tests.assessments.test_replay import comparable, follow
from tests.sentences import says
from tests.stack import Stack, assess, serving
from tests.work import NIGHTLY

ATTACKS = {
    "leaves": "os._exit(3)",
    "cancels": "raise asyncio.CancelledError",
    "interrupts": "raise KeyboardInterrupt",
    "forks": "while True: os.fork()",
    "hoards": "kept = [bytearray(10**7) for _ in range(10**5)]",
    "floods": "while True: print('a' * 10**6)",
}
PLAYED = ATTACKS if NIGHTLY else {name: ATTACKS[name] for name in ("leaves",)}
_CODE = """
import asyncio, os, time

async def asked(ctx, params):
    {}

async def told(ctx, params):
    return {{"score": 1, "max_score": 1, "explanation": "told"}}
"""


async def test_code_that_does_harm_fails_its_own_judging_and_is_judged_again_once_it_is_mended(
    stack: Stack, scenarios_dir: Path
) -> None:
    for name, attack in PLAYED.items():
        write_package(scenarios_dir, f"harm_{name}", files={"evaluators.py": _CODE.format(attack)})
    write_package(scenarios_dir, "harm_blocks", files={"evaluators.py": _CODE.format("time.sleep(4); 1 / 0")})
    async with serving(diligent) as url:
        undisturbed = await assess(stack, url, "tiny", max_turns=1)
        neighbour, *attacked = await asyncio.gather(
            assess(stack, url, "tiny", max_turns=1),
            *(assess(stack, url, f"harm_{name}", max_turns=1) for name in PLAYED),
            assess(stack, url, "harm_blocks", max_turns=1),
        )
    assert undisturbed.results is not None
    assert neighbour.results is not None
    assert comparable(neighbour.results) == comparable(undisturbed.results)
    for assessed in attacked:
        assert assessed.state == "failed", assessed.sentence
        assert assessed.results is not None
        assert assessed.sentence == says("asked", task_id=assessed.results.assessment_id)
        assert assessed.results.turns_taken == 1
        assert len(assessed.results.action_log) > 0
        assert all(criterion.is_unscored for criterion in assessed.results.criteria_results)
    task_id = attacked[0].results.assessment_id if attacked[0].results else ""
    client = await connect(stack.config)
    point = choose(await reset_points(client, task_id), None, from_judging=False)
    assert (point.turn, point.has_failed) == (None, True)
    (scenarios_dir / "harm_leaves" / "evaluators.py").write_bytes((TINY / "evaluators.py").read_bytes())
    await reset(client, task_id, point, with_current_evaluators=True)
    ended = await follow(stack, task_id)
    assert ended.state == "completed", ended.sentence
    mended = AssessmentResults.model_validate_json(ended.results or b"")
    assert (mended.turns_taken, mended.scores.overall.max_score) == (1, undisturbed.results.scores.overall.max_score)


async def test_a_package_with_a_pipe_for_its_state_is_refused(stack: Stack, scenarios_dir: Path) -> None:
    write_package(scenarios_dir, "piped_state")
    state = scenarios_dir / "piped_state" / "initial_state.json"
    state.unlink()
    os.mkfifo(state)
    async with serving(idle) as url:
        refused, neighbour = await asyncio.gather(
            assess(stack, url, "piped_state"), assess(stack, url, "tiny", max_turns=1)
        )
    assert refused.state == "rejected"
    assert says("piped_state", "initial_state.json").within(refused.sentence)
    assert neighbour.state == "completed"
