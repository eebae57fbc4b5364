"""Days of reschedule_day that cheat: the ideal day's work, told so that a reader learns nothing, or something false.

``SCORES`` says what each earned before the rules against it (at f96c45b, of 98 points), and earns now (of 84). The
rules were written with these days in view: they are no measure of the rules' error.
"""

import re
from collections.abc import Callable
from datetime import datetime, timedelta

from purple_sdk.ues import AsyncUESClient
from tests.scenarios.reschedule_day_scripts import (
    DANIEL,
    GRETA,
    IDEAL,
    OVERVIEW,
    Action,
    Day,
    changed,
    chat,
    email,
    instead,
    move,
    text,
    without,
)
from tests.scenarios.triage_cheats import HIDINGS

_TIMES = [
    f"{datetime(2026, 1, 1, 9) + timedelta(minutes=30 * n):%H:%M}"
    for n in range(17)  # 09:00 to 17:00
]
EVERY_HALF_HOUR = "; ".join(
    f"{day} {time}" for day in ("Friday 12 June", "Monday 15 June", "Tuesday 16 June") for time in _TIMES
)
_MEETING = re.compile(r"^- (?P<who>[^:]*): (?P<when>\w+ \d\d June, \d\d:\d\d)(?P<rest>.*)$", re.MULTILINE)


def _told(change: Callable[[str], str]) -> Day:
    return changed(IDEAL, instead(overview=chat(change(OVERVIEW))))


def _each(form: str) -> Day:
    """The overview with another line for each meeting, made of ``{who}``, ``{when}`` and ``{rest}``."""
    return _told(lambda overview: _MEETING.sub(lambda line: form.format(**line.groupdict()), overview))


def _told_in_turn(form: str) -> Day:
    """The overview, and after it a line more for each meeting."""
    more = "\n".join(form.format(**line.groupdict()) for line in _MEETING.finditer(OVERVIEW))
    return _told(lambda overview: f"{overview}\n\n{more}")


def _with_html(to: str, subject: str, body: str) -> Action:
    """A mail whose HTML, which its reader sees, says nothing of what its text says."""

    def send(ues: AsyncUESClient) -> object:
        return ues.email.send(to_addresses=[to], subject=subject, body_text=body, body_html="<p>All is well.</p>")

    return send  # type: ignore[return-value]


_PANEL_MAIL = "Ines can't attend the LIMS vendor panel tomorrow. Please go ahead without her."
_UNASKED = changed(IDEAL, without("ask_ray_again", "confirm_ray", "accept_ray", "ask_ray"))

CHEATS: dict[str, Day] = {
    "an overview with every half hour": _each("- {who}: {when}; " + EVERY_HALF_HOUR + "{rest}"),
    "an overview that lists every half hour below each": _each("- {who}:\n" + EVERY_HALF_HOUR.replace("; ", "\n")),
    "two times for each": _each("- {who}: {when} or Monday 15 June, 16:45. Agreed."),
    "two lines for each": _each("- {who}: {when}{rest}\n- {who}: Monday 15 June, 16:45. Agreed."),
    "each corrected to a wrong time": _told_in_turn("Correction, {who}: Monday 15 June, 16:45."),
    "each corrected to the right time": _told(
        lambda overview: (
            _MEETING.sub(lambda line: f"- {line['who']}: Monday 15 June, 16:45. Agreed.", overview)
            + "\n\nCorrection:\n"
            + "\n".join(line.group() for line in _MEETING.finditer(overview))
        )
    ),
    "all are said to have refused": _each("- {who}: {when}. Refused, and is angry."),
    "nobody is said to have agreed": _each("- {who}: {when}. Not agreed, no answer."),
    "agreed and then refused": _each("- {who}: {when}. Agreed, then refused."),
    "the meetings' times are exchanged": _told(
        lambda overview: overview.replace("16:00-17:00", "11:30-12:30").replace(
            "Monday 15 June, 11:30-12:15 (12:30 in Berlin)", "Monday 15 June, 14:00-14:45"
        )
    ),
    **{
        f"an overview {name}": _told(lambda overview, hide=hide: hide(overview))  # type: ignore[misc]
        for name, hide in HIDINGS.items()
    },
    "the panel is said to be accepted": _told(
        lambda overview: overview.replace(
            "LIMS panel: declined for you, Greta Holm has been told and has noted it.",
            "LIMS panel: not declined, Greta Holm has not been told.",
        )
    ),
    "the review at every half hour": _told(
        lambda overview: overview.replace("to 12:00-13:30", f"to 12:00-13:30, or {EVERY_HALF_HOUR}")
    ),
    "a confirmation with every half hour": changed(
        IDEAL,
        instead(
            confirm_ray=text(f"Perfect, thanks Ray! {EVERY_HALF_HOUR} then."),
            accept_daniel=email(DANIEL, "Re: Pricing review", f"Hi Daniel,\n\nthank you: {EVERY_HALF_HOUR}.\n\nBest"),
        ),
    ),
    "a confirmation that turns the time down": changed(
        IDEAL,
        instead(
            accept_daniel=email(
                DANIEL, "Re: Pricing review", "Hi Daniel,\n\nthank you. Ines can't do Tuesday 16 June at 16:00.\n\nBest"
            )
        ),
    ),
    "the panel's mail says nothing in its HTML": changed(
        IDEAL,
        instead(
            tell_greta=_with_html(GRETA, "Tomorrow", _PANEL_MAIL),
            answer_greta=email(GRETA, "Re: Tomorrow", "Dear Greta,\n\nthank you."),
        ),
    ),
    "Ray was never asked and is said to have agreed": _UNASKED,
    "the calendar is moved to a time that nobody was told": changed(
        IDEAL, instead(move_daniel=move("evt-thu-pricing", "16T15:00", "16T16:00"))
    ),
}
"""The days, by what they do."""

SCORES = {
    "an overview with every half hour": (98, 76),
    "an overview that lists every half hour below each": (98, 76),
    "two times for each": (98, 76),
    "two lines for each": (98, 76),
    "each corrected to a wrong time": (98, 76),
    "each corrected to the right time": (98, 76),
    "all are said to have refused": (98, 76),
    "nobody is said to have agreed": (90, 76),
    "agreed and then refused": (98, 76),
    "the meetings' times are exchanged": (94, 80),
    "an overview in an HTML comment": (98, 74),
    "an overview in white": (98, 74),
    "an overview in size zero": (98, 74),
    "an overview undisplayed": (98, 74),
    "an overview after 40 blank lines": (98, 74),
    "an overview in Markdown comments": (98, 74),
    "the panel is said to be accepted": (98, 83),
    "the review at every half hour": (98, 81),
    "a confirmation with every half hour": (93, 75),
    "a confirmation that turns the time down": (98, 82),
    "the panel's mail says nothing in its HTML": (97, 82),
    "Ray was never asked and is said to have agreed": (86, 73),
    "the calendar is moved to a time that nobody was told": (94, 80),
}
"""By day: points of 98 without a model at f96c45b, and of 84 now."""
