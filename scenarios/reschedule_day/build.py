"""Writes scenario.json and initial_state.json from the readable sources in this folder.

``python scenarios/reschedule_day/build.py`` writes them, ``--check`` only says whether they are up to date. The
loader reads the JSON alone.
"""

import sys
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parent
sys.path.insert(0, str(FOLDER))

from slots import FOREIGN_TIMES  # noqa: E402
from source import brief, cast, diary, mailbox  # noqa: E402

from scenarios.kit import building  # noqa: E402

VERSION = "5"
"""Rises with every change that may move a score; results carry it."""

CANARY = "b1156fdf-aea5-4437-8229-87b7cf96225c"
"""Found in a model's training data, it says that the scenario was: this file should be in no training corpus."""


def scenario() -> dict[str, Any]:
    """The content of scenario.json."""
    return {
        "scenario_id": "reschedule_day",
        "name": "Reschedule a day",
        "description": brief.DESCRIPTION,
        "start_time": brief.START,
        "end_time": brief.END,
        "default_time_step": "PT1H",
        "user_prompt": brief.USER_PROMPT,
        "user_character": "ines",
        "characters": cast.CHARACTERS,
        "criteria": brief.CRITERIA,
        "version": VERSION,
        "canary": CANARY,
        "foreign_times": FOREIGN_TIMES,
        "initial_state": "initial_state.json",
    }


def initial_state() -> building.State:
    """The content of initial_state.json: a UES scenario file."""
    return building.initial_state(
        start=brief.START,
        description=brief.DESCRIPTION,
        modalities={
            "email": mailbox.EMAIL_STATE,
            "sms": mailbox.SMS_STATE,
            "calendar": diary.STATE,
            "chat": brief.CHAT_STATE,
        },
        events=[
            *(_event(f"ev-{mail['message_id']}", "email", mail) for mail in mailbox.ARRIVING),
            *(_event(f"ev-{text['message_data']['message_id']}", "sms", text) for text in mailbox.ARRIVING_TEXTS),
            _event("ev-review-moves", "calendar", {**diary.REVIEW_MOVES, "timestamp": "2026-06-10T11:20:00+01:00"}),
        ],
    )


def _event(event_id: str, modality: str, data: dict[str, Any]) -> building.State:
    return building.event(event_id, data["timestamp"], modality, data, start=brief.START)


if __name__ == "__main__":
    files = {"scenario.json": scenario(), "initial_state.json": initial_state()}
    sys.exit(building.write({FOLDER / name: building.as_json(files[name]) for name in files}, sys.argv[1:]))
