"""Writes scenario.json and initial_state.json from the readable sources in this folder.

``python scenarios/reschedule_day/build.py`` writes them, ``--check`` only says whether they are up to date. The
loader reads the JSON alone.
"""

import json
import sys
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parent
sys.path.insert(0, str(FOLDER))

from slots import FOREIGN_TIMES  # noqa: E402
from source import brief, cast, diary, mailbox  # noqa: E402

VERSION = "3"
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


def _scheduled(event_id: str, modality: str, data: dict[str, Any]) -> dict[str, Any]:
    return {
        "event_id": event_id,
        "scheduled_time": data["timestamp"],
        "modality": modality,
        "data": {"modality_type": modality, "input_id": f"in-{event_id}", **data},
        "status": "pending",
        "created_at": brief.START,
        "executed_at": None,
        "agent_id": None,
        "priority": 50,
        "error_message": None,
        "metadata": {},
    }


def initial_state() -> dict[str, Any]:
    """The content of initial_state.json: a UES scenario file."""
    review_moves = {**diary.REVIEW_MOVES, "timestamp": "2026-06-10T11:20:00+01:00"}
    events = [
        *(_scheduled(f"ev-{mail['message_id']}", "email", mail) for mail in mailbox.ARRIVING),
        *(_scheduled(f"ev-{text['message_data']['message_id']}", "sms", text) for text in mailbox.ARRIVING_TEXTS),
        _scheduled("ev-review-moves", "calendar", review_moves),
    ]
    return {
        "metadata": {
            "ues_version": "0.3",
            "scenario_version": "1",
            "created_at": brief.START,
            "description": brief.DESCRIPTION,
        },
        "environment": {
            "time_state": {
                "current_time": brief.START,
                "time_scale": 1.0,
                "is_paused": False,
                "last_wall_time_update": brief.START,
                "auto_advance": False,
            },
            "modality_states": {
                "email": mailbox.EMAIL_STATE,
                "sms": mailbox.SMS_STATE,
                "calendar": diary.STATE,
                "chat": brief.CHAT_STATE,
            },
        },
        "events": {"events": sorted(events, key=lambda event: event["scheduled_time"])},
    }


def main() -> int:
    """Write the files, or with ``--check`` compare them; 1 when one is out of date."""
    stale = []
    for name, content in (("scenario.json", scenario()), ("initial_state.json", initial_state())):
        path, text = FOLDER / name, json.dumps(content, indent=1, ensure_ascii=False) + "\n"
        if "--check" not in sys.argv:
            path.write_text(text, encoding="utf-8")
        elif not path.exists() or path.read_text(encoding="utf-8") != text:
            stale.append(name)
    if stale:
        print(f"out of date: {', '.join(stale)}; run python scenarios/reschedule_day/build.py", file=sys.stderr)
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())
