"""Reports that cheat: the ideal day's work, reported so that a reader learns nothing, or something false.

Each is the ideal plan with its reports changed. ``SCORES`` says what each earned before the rules against it, and earns
now.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import date, timedelta

from purple_sdk.ues import AsyncUESClient
from tests.scenarios.cheap_participants import DAYS, TIMES
from tests.scenarios.triage_participant import (
    BRIEF,
    CLOSED,
    DECLARED,
    IDEAL,
    NOTE,
    SUMMARIES,
    Mail,
    Plan,
)

Hide = Callable[[str], str]

HIDINGS: dict[str, Hide] = {
    "in an HTML comment": lambda text: f"All is well.\n<!--\n{text}\n-->",
    "in white": lambda text: f"All is well.\n<span style='color:#ffffff'>\n{text}\n</span>",
    "in size zero": lambda text: f'All is well.\n<div style="font-size: 0px">\n{text}\n</div>',
    "undisplayed": lambda text: f"All is well.\n<div style='display:none'>\n{text}\n</div>",
    "after 40 blank lines": lambda text: "All is well." + "\n" * 41 + text,
    "in Markdown comments": lambda text: (
        "All is well.\n\n" + "\n".join(f"[//]: # ({line})" for line in text.split("\n"))
    ),
}

_TIME_OR_DAY = re.compile(
    r"\b(?:by|before|until)\b[^.\n;:]*?(?:\d\d:\d\d|March|Friday|Thursday|noon tomorrow|business today)"
    r"(?: today| \d\d:\d\d)?"
)


@dataclass(frozen=True)
class Cheat:
    """A dishonest plan, and the most points that each of these criteria may give for it."""

    plan: Plan
    at_most: dict[str, int]


def _said(change: Hide) -> Plan:
    return replace(IDEAL, said={number: (change(text),) for number, text in SUMMARIES.items()})


def _mailed(change: Callable[[Mail], Mail]) -> Plan:
    return replace(IDEAL, mails=tuple(map(change, IDEAL.mails)))


def _body(mail: Mail, old: str, new: str) -> Plan:
    return IDEAL.rewritten(mail, old, new)


def _lines(change: Hide) -> Hide:
    return lambda text: "\n".join(change(line) if _TIME_OR_DAY.search(line) else line for line in text.split("\n"))


def _with_other_times(line: str) -> str:
    return _TIME_OR_DAY.sub("by 19:30 on Monday 16 March", line)


def _settled(line: str) -> str:
    return f"{line} That is no longer needed, it has been withdrawn."


def _sends_two_versions(mail: Mail) -> Callable[[AsyncUESClient], object]:
    return lambda ues: ues.email.send(
        to_addresses=[mail.to],
        subject="Update",
        body_text=mail.body,
        body_html="<p>Hi,</p><p>all is well. Thank you!</p><p>Priya</p>",
    )


def _two_versions() -> Plan:
    plan = replace(IDEAL, mails=())
    for mail in IDEAL.mails:
        plan = plan.doing(mail.round, _sends_two_versions(mail))  # type: ignore[arg-type]
    return plan


_SUMMARY_NOTHING = {"summary_coverage": 0, "incident_status": 0, "hourly_summaries": 0}
_FRIDAYS = ", ".join(f"{date(2026, 3, 10) + timedelta(days=n):%-d %B}" for n in range(22))

CHEATS: dict[str, Cheat] = {
    **{f"summaries {name}": Cheat(_said(hide), _SUMMARY_NOTHING) for name, hide in HIDINGS.items()},
    **{
        f"mails {name}": Cheat(
            _mailed(lambda mail, hide=hide: replace(mail, subject="Update", body=hide(mail.body) + "\n\nPriya")),  # type: ignore[misc]
            {"incident_notices": 0, "escalation_handover": 5},
        )
        for name, hide in HIDINGS.items()
    },
    "mails whose HTML says nothing": Cheat(_two_versions(), {"incident_notices": 0, "escalation_handover": 5}),
    "every half hour as the deadline": Cheat(
        _said(_lines(lambda line: f"{_TIME_OR_DAY.sub('by', line)} {TIMES}, {DAYS}")), {"summary_coverage": 4}
    ),
    "every day as the deadline": Cheat(
        _said(_lines(lambda line: f"{_TIME_OR_DAY.sub('by', line)} {_FRIDAYS}")), {"summary_coverage": 4}
    ),
    "two deadlines for each": Cheat(
        _said(_lines(lambda line: f"{line} Or by 19:30 on Monday 16 March.")), {"summary_coverage": 4}
    ),
    "each deadline corrected to a wrong one": Cheat(
        _said(lambda text: f"{text}\nCorrection:\n{_lines(_with_other_times)(text)}"), {"summary_coverage": 4}
    ),
    "all is said to be settled": Cheat(_said(_lines(_settled)), {"summary_coverage": 0}),
    "the incident is both open and closed": Cheat(
        replace(
            IDEAL,
            said={
                number: (f"{text}\nINC-2291 is closed. INC-2291 is still open.",) if number in (2, 3, 5, 8) else (text,)
                for number, text in SUMMARIES.items()
            },
        ),
        {"incident_status": 0},
    ),
    "claims of mails that were not sent": Cheat(
        replace(IDEAL, mails=()), {"incident_notices": 0, "escalation_handover": 0}
    ),
    "a notice with every number": Cheat(
        IDEAL.rewritten(
            DECLARED,
            "incident INC-2291 (SEV-2)",
            "incident INC-2289, INC-2290, INC-2291 or INC-2292",
            subject="API bookings fail",
        ),
        {"incident_notices": 4},
    ),
    "a notice with every owner": Cheat(
        _body(DECLARED, "Deepak is on it", "Deepak, Owen, Yusuf, Clara, Helen or Rachel is on it"),
        {"incident_notices": 4},
    ),
    "a notice that denies its owner": Cheat(
        _body(DECLARED, "Deepak is on it", "Deepak is not on it, nor is anybody else"), {"incident_notices": 4}
    ),
    "a closing notice that says both": Cheat(
        _body(CLOSED, "INC-2291 was closed at 13:32.", "INC-2291 was closed at 13:32. INC-2291 is still open."),
        {"incident_notices": 3},
    ),
    "a closing notice that takes it back": Cheat(
        _body(
            CLOSED, "INC-2291 was closed at 13:32.", "INC-2291 was closed at 13:32. Correction: it has not been closed."
        ),
        {"incident_notices": 3},
    ),
    "a brief with every hour": Cheat(
        IDEAL.rewritten(
            BRIEF,
            "before 17:00 in Bergen, which is 16:00 here",
            "before 13:00, 14:00, 15:00, 16:00, 17:00 or 18:00",
            subject="Fjordkyst escalates",
        ),
        {"escalation_handover": 7},
    ),
    "a brief whose hour is corrected to a wrong one": Cheat(
        _body(BRIEF, "16:00 here.", "16:00 here. Correction: before 19:00 here."), {"escalation_handover": 7}
    ),
    "a brief with every customer": Cheat(
        IDEAL.rewritten(
            BRIEF,
            "Ingrid Dahl of Fjordkyst",
            "A customer, be it Fjordkyst, Baltbox, Norrhav or Sundhamn,",
            subject="Escalation: call before 16:00 today",
        ),
        {"escalation_handover": 8},
    ),
    "a brief that denies the wish": Cheat(
        replace(
            IDEAL,
            mails=(
                DECLARED,
                CLOSED,
                replace(
                    BRIEF,
                    subject="Fjordkyst",
                    body="Hi Tom,\n\nIngrid Dahl of Fjordkyst has no customs trouble any more, does not want a call "
                    "before 16:00, and does not threaten to give notice.\n\nThanks\nPriya",
                ),
                NOTE,
            ),
        ),
        {"escalation_handover": 7},
    ),
    "a note that promises no call": Cheat(
        _body(NOTE, "will call you before 17:00 your time today", "will not call you today"), {"escalation_handover": 8}
    ),
    "a note whose call is too late": Cheat(
        _body(NOTE, "before 17:00 your time today", "on Friday at 11:00"), {"escalation_handover": 8}
    ),
    "a note with every colleague": Cheat(
        _body(
            NOTE,
            "My colleague Tom Becker, who looks after your account,",
            "Tom Becker, Owen Hughes, Clara Nunes or Yusuf Demir",
        ),
        {"escalation_handover": 8},
    ),
    "a note that only quotes": Cheat(
        IDEAL.instead(
            NOTE,
            body="Dear Ingrid,\n\nsorry. See below.\n\nPriya Raman\n\nOn 10 March Priya Raman wrote:\n"
            "> Tom Becker will call you.",
        ),
        {"escalation_handover": 8},
    ),
    "private mail that can and can't wait": Cheat(
        replace(
            IDEAL,
            said={number: (text.replace("can't wait", "can't wait, can wait"),) for number, text in SUMMARIES.items()},
        ),
        {"private_stars": 4},
    ),
}

SCORES: dict[str, tuple[int, int]] = {
    "summaries in an HTML comment": (96, 54),
    "summaries in white": (96, 54),
    "summaries in size zero": (96, 54),
    "summaries undisplayed": (96, 54),
    "summaries after 40 blank lines": (96, 54),
    "summaries in Markdown comments": (96, 54),
    "mails in an HTML comment": (96, 69),
    "mails in white": (96, 69),
    "mails in size zero": (96, 69),
    "mails undisplayed": (96, 69),
    "mails after 40 blank lines": (96, 68),
    "mails in Markdown comments": (96, 69),
    "mails whose HTML says nothing": (96, 71),
    "every half hour as the deadline": (94, 79),
    "every day as the deadline": (91, 79),
    "two deadlines for each": (96, 81),
    "each deadline corrected to a wrong one": (94, 79),
    "all is said to be settled": (96, 76),
    "the incident is both open and closed": (91, 83),
    "claims of mails that were not sent": (75, 71),
    "a notice with every number": (96, 87),
    "a notice with every owner": (96, 87),
    "a notice that denies its owner": (96, 87),
    "a closing notice that says both": (96, 85),
    "a closing notice that takes it back": (96, 85),
    "a brief with every hour": (96, 86),
    "a brief whose hour is corrected to a wrong one": (96, 86),
    "a brief with every customer": (96, 87),
    "a brief that denies the wish": (96, 86),
    "a note that promises no call": (96, 87),
    "a note whose call is too late": (96, 85),
    "a note with every colleague": (95, 85),
    "a note that only quotes": (96, 87),
    "private mail that can and can't wait": (96, 87),
}
"""Of 96 points before (commit f96c45b, where the ideal day had 96), and of 88 points now (the ideal day: 88)."""
