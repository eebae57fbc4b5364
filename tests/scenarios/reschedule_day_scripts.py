"""What a participant of reschedule_day does: the ideal day, and ways to change it.

The ideal day stands in ``IDEAL``: turn to actions, each with a name. ``script`` makes a script for ``tests.stack.play``
of a day. Mistakes and others' days are in ``reschedule_day_mistakes``.
"""

from collections.abc import Awaitable, Callable
from datetime import datetime

from purple_sdk.ues import AsyncUESClient

Action = Callable[[AsyncUESClient], Awaitable[object]]
Day = dict[int, dict[str, Action]]
Change = Callable[[Day], Day]
Script = Callable[[int, AsyncUESClient, datetime], Awaitable[None]]

INES = "ines.carvalho@larkfield.example"
DANIEL = "daniel.okafor@larkfield.example"
SABINE = "sabine.keller@spree-institut.example"
AISHA = "aisha.rahman@larkfield.example"
GRETA = "greta.holm@larkfield.example"
OWEN = "owen.price@larkfield.example"
RAY = "+447700900318"


def email(to: str, subject: str, body: str) -> Action:
    return lambda ues: ues.email.send(to_addresses=[to], subject=subject, body_text=body)


def text(body: str, to: str = RAY) -> Action:
    return lambda ues: ues.sms.send(to_numbers=[to], body=body)


def move(event_id: str, start: str, end: str) -> Action:
    """Times are "12T13:30": day of June and London time."""
    return lambda ues: ues.calendar.update(event_id=event_id, start=_june(start), end=_june(end))


def make(title: str, start: str, end: str) -> Action:
    return lambda ues: ues.calendar.create(title=title, start=_june(start), end=_june(end))


def remove(event_id: str) -> Action:
    return lambda ues: ues.calendar.delete(event_id=event_id)


def decline(event_id: str) -> Action:
    return lambda ues: ues.calendar.respond(event_id=event_id, attendee_email=INES, response="declined")


def chat(content: str) -> Action:
    return lambda ues: ues.chat.send(role="assistant", content=content)


def archive(message_id: str) -> Action:
    return lambda ues: ues.email.archive(message_ids=[message_id])


def _june(day_and_time: str) -> datetime:
    return datetime.fromisoformat(f"2026-06-{day_and_time}:00+01:00")


OVERVIEW = """Everything is settled, Ines. All times London:

- Q3 pricing review, Daniel Okafor: Tuesday 16 June, 16:00-17:00. Agreed by email.
- Trial data walkthrough, Dr Sabine Keller: Monday 15 June, 11:30-12:15 (12:30 in Berlin). Agreed by email.
- Freezer key handover, Ray Tully: Friday 12 June, 13:30-14:00 at the loading bay. Agreed by text.
- Onboarding plan, Aisha Rahman: Friday 12 June, 14:00-15:00. She accepted the invitation.

LIMS panel: declined for you, Greta Holm has been told and has noted it.
Changed otherwise: North Thames moved Friday's contract review to 12:00-13:30, so I moved Ray again, with his consent.

Safe travels."""

IDEAL: Day = {
    1: {
        "ask_daniel": email(
            DANIEL,
            "Pricing review on Thursday: could we move it?",
            "Hi Daniel,\n\nsomething unavoidable has come up for Ines tomorrow, so she can't make the pricing review"
            " at 09:30. I'm sorry for the short notice. Would Friday 12 June at 12:30 suit you instead, for the"
            " hour?\n\nMany thanks\nfor Ines Carvalho",
        ),
        "ask_sabine": email(
            SABINE,
            "SPREE-2 call on Thursday: request to postpone",
            "Dear Dr Keller,\n\nunfortunately something unavoidable has come up for Ines tomorrow, and she has to ask"
            " you to postpone the walkthrough of the trial data. Would Friday 12 June at 14:00 London time (15:00 in"
            " Berlin) be convenient for you?\n\nWith apologies for the short notice and kind regards\nfor Ines"
            " Carvalho",
        ),
        "ask_ray": text(
            "Hi Ray, sorry, something has come up and Ines can't do tomorrow 1pm for the freezer keys. "
            "Would Friday 12 June at 11:00 work for you? Thanks!"
        ),
        "move_aisha": move("evt-thu-onboarding", "12T13:30", "12T14:30"),
        "decline_panel": decline("evt-thu-panel"),
        "tell_greta": email(
            GRETA,
            "LIMS panel on Thursday: Ines can't attend",
            "Dear Greta,\n\nsomething unavoidable has come up, and Ines can't attend the LIMS vendor panel tomorrow."
            " Please go ahead without her; I have declined the invitation. She is sorry to let you know so"
            " late.\n\nKind regards\nfor Ines Carvalho",
        ),
    },
    2: {
        "turn_daniel_down": email(
            DANIEL,
            "Re: Pricing review on Thursday: could we move it?",
            "Hi Daniel,\n\nthank you for the quick answer. I'm afraid Ines can't do Friday at 15:30, she has an"
            " appointment then. Could we say Monday 15 June at 14:00? As to what came up, I'm sorry, there is nothing"
            " more I can say than that it's unavoidable.\n\nMany thanks\nfor Ines",
        ),
        "accept_sabine": email(
            SABINE,
            "Re: SPREE-2 call on Thursday: request to postpone",
            "Dear Dr Keller,\n\nMonday 15 June at 12:30 Berlin time (11:30 in London) suits Ines very well. I'm"
            " moving the invitation accordingly. Thank you very much for your flexibility, and have a good journey to"
            " Lisbon.\n\nKind regards\nfor Ines Carvalho",
        ),
        "move_sabine": move("evt-thu-walkthrough", "15T11:30", "15T12:15"),
        "accept_ray": text("Great, Friday 12 June 12:45 at the loading bay it is. Thanks Ray!"),
        "move_ray": move("evt-thu-handover", "12T12:45", "12T13:15"),
        "move_aisha_again": move("evt-thu-onboarding", "12T14:00", "12T15:00"),
        "answer_greta": email(
            GRETA,
            "Re: LIMS panel on Thursday: Ines can't attend",
            "Dear Greta,\n\nthank you for taking it so kindly. I'm not able to go into the reason, I'm afraid; please"
            " just say that something unavoidable came up.\n\nKind regards\nfor Ines Carvalho",
        ),
    },
    3: {
        "accept_daniel": email(
            DANIEL,
            "Re: Pricing review on Thursday: could we move it?",
            "Hi Daniel,\n\nTuesday 16 June at 16:00 works for Ines, I've moved the invitation. Thank you for making"
            " room.\n\nBest\nfor Ines",
        ),
        "move_daniel": move("evt-thu-pricing", "16T16:00", "16T17:00"),
    },
    5: {
        "ask_ray_again": text(
            "Hi Ray, so sorry, another meeting has been moved onto our slot on Friday. Could we make it 13:30"
            " instead, still at the loading bay? Thank you!"
        ),
    },
    6: {
        "confirm_ray": text("Perfect, thanks Ray! Friday 12 June 13:30 then."),
        "move_ray_again": move("evt-thu-handover", "12T13:30", "12T14:00"),
    },
    8: {"overview": chat(OVERVIEW)},
}


def script(day: Day) -> Script:
    """A script that does the day's actions; the clock moves an hour after each turn."""

    async def play_turn(turn: int, ues: AsyncUESClient, now: datetime) -> None:
        for action in day.get(turn, {}).values():
            await action(ues)

    return play_turn


def changed(day: Day, *changes: Change) -> Day:
    """The day with changes, one after the other."""
    for change in changes:
        day = change(day)
    return day


def without(*names: str) -> Change:
    """Leave actions out."""

    def change(day: Day) -> Day:
        _require(day, names)
        return {turn: {n: action for n, action in actions.items() if n not in names} for turn, actions in day.items()}

    return change


def instead(**actions: Action) -> Change:
    """Do actions otherwise."""

    def change(day: Day) -> Day:
        _require(day, tuple(actions))
        return {turn: {n: actions.get(n, action) for n, action in done.items()} for turn, done in day.items()}

    return change


def also(turn: int, *actions: Action) -> Change:
    """Do more at the end of a turn."""

    def change(day: Day) -> Day:
        done = day.get(turn, {})
        return {**day, turn: {**done, **{f"extra {len(done) + n}": action for n, action in enumerate(actions)}}}

    return change


def later(turn: int, *names: str) -> Change:
    """Do actions in a later turn, after what is done there."""

    def change(day: Day) -> Day:
        _require(day, names)
        moved = {n: action for actions in day.values() for n, action in actions.items() if n in names}
        rest = without(*names)(day)
        return {**rest, turn: {**rest.get(turn, {}), **moved}}

    return change


def _require(day: Day, names: tuple[str, ...]) -> None:
    known = {name for actions in day.values() for name in actions}
    if missing := set(names) - known:
        raise ValueError(f"no actions of these names: {', '.join(sorted(missing))}")
