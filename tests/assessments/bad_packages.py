"""Scenario packages that can't be played, or can't be judged."""

from pathlib import Path
from typing import Any

from tests.assessments.packages import edited, write_package

_RAISING = """
async def asked(ctx, params):
    raise KeyError("no such mail")

async def told(ctx, params):
    return {"score": 1, "max_score": 1, "explanation": "said so"}
"""
_SYNTAX = "async def asked(ctx, params)\n    return None\n"


_WAITS = """
import asyncio

async def asked(ctx, params):
    await asyncio.sleep(3600)

async def told(ctx, params):
    await asyncio.sleep(3600)
"""


def write_bad_packages(directory: Path) -> None:
    """Write them all; each one's id says what is wrong with it."""
    write_package(directory, "evaluator_raises", files={"evaluators.py": _RAISING})
    write_package(directory, "evaluator_waits", files={"evaluators.py": _WAITS})
    write_package(directory, "evaluators_not_python", files={"evaluators.py": _SYNTAX})
    write_package(directory, "state_not_json", files={"initial_state.json": '{"environment": '})
    write_package(directory, "state_misshapen", files={"initial_state.json": edited("initial_state.json", _misshape)})
    write_package(directory, "state_refused", files={"initial_state.json": edited("initial_state.json", _spoil)})


def _misshape(state: dict[str, Any]) -> None:
    state["environment"]["modality_states"]["email"]["emails"] = ["not", "keyed"]


def _spoil(state: dict[str, Any]) -> None:
    """Of the right shape, but only the simulator knows that a mail must have a sender."""
    state["environment"]["modality_states"]["email"]["emails"] = {"m1": {"message_id": "m1", "subject": "No sender"}}
