"""The acts of a family's oracle as tool calls, turn by turn: what a scripted model has to ask for to earn all points.

python -m tests.oracle_script clear_the_day 2 1 [PORT]      serves them as a scripted model
"""

import sys
import threading
from collections import defaultdict
from pathlib import Path
from typing import Any

from proctor.local.audit.players import make_report
from proctor.scenarios.kit.making.days import Day, make_day
from proctor.scenarios.kit.making.duty import Act
from proctor.scenarios.kit.making.wording import message
from tests.scripted_model import Calls, ScriptedModel

FAMILIES = Path(__file__).parent.parent / "scenarios" / "families"
_TOOLS = {"email.mark_read": "email_read", "email.mark_unread": "email_unread", "chat.send_message": "chat_send"}
_OWN = {
    "email_send": {"from_address": "email_address"},
    "sms_send": {"from_number": "phone"},
    "calendar_respond": {"attendee_email": "email_address"},
}
"""Fields that purple_sdk's client fills in, and other callers have to."""


def oracle_script(family: str, difficulty: int, seed: int) -> dict[int, Calls]:
    """Turn numbers, from 1, to the calls of that turn."""
    day = make_day(FAMILIES / family, difficulty, seed)
    script: dict[int, list[tuple[str, dict[str, Any]]]] = defaultdict(list)
    for act in [*(act for duty in day.duties for act in duty.acts), *make_report(day, {})]:
        fitting = [number for number, start in enumerate(day.starts, start=1) if act.at <= start <= act.until]
        if fitting:
            name, fields = _as_call(act, day)
            own = {"email_address": day.user.email, "phone": day.user.phone}
            script[fitting[0]].append(
                (name, {**{field: own[of] for field, of in _OWN.get(name, {}).items()}, **fields})
            )
    return dict(script)


def _as_call(act: Act, day: Day) -> tuple[str, dict[str, Any]]:
    if act.action != "tell":
        role = {"role": "assistant"} if act.action == "chat.send_message" else {}
        return _TOOLS.get(act.action, act.action.replace(".", "_")), {**role, **act.fields}
    words = message(act, day.user, 0)
    if act.to is None or act.channel == "chat":
        return "chat_send", {"role": "assistant", "content": words["body"]}
    if act.channel == "text":
        return "sms_send", {"to_numbers": [act.to.phone or ""], "body": words["body"]}
    if act.reply_to is not None:
        return "email_reply", {"message_id": act.reply_to, "body_text": words["body"]}
    return "email_send", {"to_addresses": [act.to.email], "subject": words["subject"], "body_text": words["body"]}


if __name__ == "__main__":
    family, difficulty, seed, *port = sys.argv[1:]
    with ScriptedModel(oracle_script(family, int(difficulty), int(seed)), port=int(*port or "0")) as model:
        print(model.url, flush=True)
        threading.Event().wait()
