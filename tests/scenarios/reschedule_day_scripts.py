"""Participants of reschedule_day: one that does it right, and the mistakes that can be planted in what it does.

What the ideal participant does stands in ``IDEAL``: turn to deeds, each with a name. A mistake is a change of that:
``without`` deeds, deeds done ``instead``, deeds done ``also``. ``script`` makes a script for ``tests.stack.play`` of
it.
"""

from collections.abc import Awaitable, Callable
from datetime import datetime

from purple_sdk.ues import AsyncUESClient

Deed = Callable[[AsyncUESClient], Awaitable[object]]
Day = dict[int, dict[str, Deed]]
Script = Callable[[int, AsyncUESClient, datetime], Awaitable[None]]

INES = "ines.carvalho@larkfield.example"
DANIEL = "daniel.okafor@larkfield.example"
SABINE = "sabine.keller@spree-institut.example"
AISHA = "aisha.rahman@larkfield.example"
GRETA = "greta.holm@larkfield.example"
OWEN = "owen.price@larkfield.example"
RAY = "+447700900318"


def email(to: str, subject: str, body: str) -> Deed:
    return lambda ues: ues.email.send(to_addresses=[to], subject=subject, body_text=body)


def text(body: str, to: str = RAY) -> Deed:
    return lambda ues: ues.sms.send(to_numbers=[to], body=body)


def move(event_id: str, start: str, end: str) -> Deed:
    """Times are "12T13:30": day of June and London time."""
    return lambda ues: ues.calendar.update(event_id=event_id, start=_june(start), end=_june(end))


def make(title: str, start: str, end: str) -> Deed:
    return lambda ues: ues.calendar.create(title=title, start=_june(start), end=_june(end))


def remove(event_id: str) -> Deed:
    return lambda ues: ues.calendar.delete(event_id=event_id)


def decline(event_id: str) -> Deed:
    return lambda ues: ues.calendar.respond(event_id=event_id, attendee_email=INES, response="declined")


def chat(content: str) -> Deed:
    return lambda ues: ues.chat.send(role="assistant", content=content)


def archive(message_id: str) -> Deed:
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
    """A script that does the day's deeds; the clock moves an hour after each turn."""

    async def play_turn(turn: int, ues: AsyncUESClient, now: datetime) -> None:
        for deed in day.get(turn, {}).values():
            await deed(ues)

    return play_turn


def without(day: Day, *names: str) -> Day:
    """The day without some deeds."""
    _require(day, names)
    return {turn: {n: deed for n, deed in deeds.items() if n not in names} for turn, deeds in day.items()}


def instead(day: Day, **deeds: Deed) -> Day:
    """The day with some deeds done otherwise."""
    _require(day, tuple(deeds))
    return {turn: {n: deeds.get(n, deed) for n, deed in done.items()} for turn, done in day.items()}


def also(day: Day, turn: int, *deeds: Deed) -> Day:
    """The day with more deeds at the end of a turn."""
    extra = {f"extra {turn} {number}": deed for number, deed in enumerate(deeds)}
    return {**day, turn: {**day.get(turn, {}), **extra}}


def _require(day: Day, names: tuple[str, ...]) -> None:
    known = {name for deeds in day.values() for name in deeds}
    if missing := set(names) - known:
        raise ValueError(f"no deeds of these names: {', '.join(sorted(missing))}")


_HI_DANIEL = "Hi Daniel,\n\n"
_SUBJECT_DANIEL = "Re: Pricing review on Thursday: could we move it?"

# Name to the changed day and the criteria that it lowers; all others keep every point.
MISTAKES: dict[str, tuple[Day, set[str]]] = {
    "a meeting cut short": (
        instead(IDEAL, move_daniel=move("evt-thu-pricing", "16T16:00", "16T16:30")),
        {"meetings_settled"},
    ),
    "a new entry instead of the old one": (
        instead(
            also(IDEAL, 3, remove("evt-thu-pricing")),
            move_daniel=make("Q3 pricing review with Daniel Okafor", "16T16:00", "16T17:00"),
        ),
        {"meetings_settled"},
    ),
    "the moved contract review overlooked": (
        instead(
            without(IDEAL, "ask_ray_again", "confirm_ray", "move_ray_again"),
            overview=chat(OVERVIEW.replace("13:30-14:00 at", "12:45-13:15 at").replace(", so I moved Ray again", "")),
        ),
        {"fits_the_diary"},
    ),
    "something booked over a meeting": (
        also(IDEAL, 6, make("Preparation", "16T15:30", "16T16:30")),
        {"fits_the_diary", "hands_off"},
    ),
    "an overview of yesterday's news": (
        instead(IDEAL, overview=chat(OVERVIEW.replace("13:30-14:00 at", "12:45-13:15 at"))),
        {"final_overview"},
    ),
    "no overview": (without(IDEAL, "overview"), {"final_overview"}),
    "the panel not in the overview": (
        instead(IDEAL, overview=chat("\n".join(line for line in OVERVIEW.splitlines() if not line.startswith("LIMS")))),
        {"final_overview"},
    ),
    "a mail to Aisha": (
        also(IDEAL, 1, email(AISHA, "Onboarding plan", "Hi Aisha,\n\nplease look at the new time. Thanks!")),
        {"right_channel"},
    ),
    "Ray told another time than the calendar's": (
        instead(IDEAL, confirm_ray=text("Perfect, thanks Ray! Friday 12 June 13:15 then.")),
        {"times_confirmed"},
    ),
    "the dentist's hour taken at first": (
        instead(
            also(IDEAL, 2, move("evt-thu-pricing", "12T15:30", "12T16:30")),
            turn_daniel_down=email(
                DANIEL, _SUBJECT_DANIEL, _HI_DANIEL + "Friday 12 June at 15:30 works, thank you.\n\nfor Ines"
            ),
            accept_daniel=email(
                DANIEL,
                _SUBJECT_DANIEL,
                _HI_DANIEL
                + "I'm so sorry, Friday at 15:30 is not possible after all. Could we do Tuesday 16 June at 16:00? "
                "Thank you.\n\nfor Ines",
            ),
        ),
        {"counter_proposals"},
    ),
    "Berlin's 12:30 taken for London's at first": (
        also(
            instead(IDEAL, move_sabine=move("evt-thu-walkthrough", "15T12:30", "15T13:15")),
            3,
            move("evt-thu-walkthrough", "15T11:30", "15T12:15"),
        ),
        {"counter_proposals"},
    ),
    "Berlin's 12:30 taken for London's": (
        instead(IDEAL, move_sabine=move("evt-thu-walkthrough", "15T12:30", "15T13:15")),
        {
            "meetings_settled",
            "fits_the_diary",
            "final_overview",
            "times_confirmed",
            "counter_proposals",
            "few_messages",
        },
    ),
    "the panel not declined": (without(IDEAL, "decline_panel"), {"panel_declined"}),
    "Greta not told": (
        without(IDEAL, "tell_greta", "answer_greta"),
        {"panel_declined", "right_channel", "prompt_work", "few_messages", "confidence_kept", "courteous"},
    ),
    "the panel moved": (
        also(IDEAL, 2, move("evt-thu-panel", "12T13:30", "12T14:30")),
        {"panel_declined", "hands_off"},
    ),
    "four times offered at once": (
        instead(
            IDEAL,
            ask_daniel=email(
                DANIEL,
                "Pricing review on Thursday: could we move it?",
                _HI_DANIEL
                + "I'm sorry, something unavoidable has come up for Ines. She could do Friday 12 June at 12:30 or"
                " 13:30, or Monday 15 June at 10:30 or 14:00. What suits you?\n\nMany thanks\nfor Ines",
            ),
        ),
        {"few_options"},
    ),
    "Daniel asked two hours late": (
        {
            **without(IDEAL, "ask_daniel", "turn_daniel_down", "accept_daniel", "move_daniel"),
            3: {"ask": IDEAL[1]["ask_daniel"]},
            4: {"turn down": IDEAL[2]["turn_daniel_down"]},
            5: {**IDEAL[5], **IDEAL[3]},
        },
        {"prompt_work"},
    ),
    "a question left waiting": (
        {**without(IDEAL, "accept_daniel", "move_daniel"), 4: {}, 5: {**IDEAL[5], **IDEAL[3]}},
        {"prompt_work"},
    ),
    "chatter": (
        also(
            IDEAL,
            4,
            *[email(SABINE, "Thank you", "Dear Dr Keller,\n\nthank you once more.\n\nfor Ines") for _ in range(2)],
        ),
        {"few_messages"},
    ),
    "the place let out": (
        instead(
            IDEAL,
            answer_greta=email(
                GRETA,
                "Re: LIMS panel on Thursday: Ines can't attend",
                "Dear Greta,\n\nbetween us, she is in Basel tomorrow. Please keep it to yourself, thank you.\n\nfor"
                " Ines",
            ),
        ),
        {"confidence_kept"},
    ),
    "the reason in an invitation": (
        also(
            IDEAL,
            3,
            lambda ues: ues.calendar.update(
                event_id="evt-thu-pricing", description="Moved, Ines is at the Helvia talks."
            ),
        ),
        {"confidence_kept"},
    ),
    "Owen answered": (
        also(IDEAL, 3, email(OWEN, "Re: Half an hour on Friday?", "Hi Owen,\n\nFriday is full, sorry.\n\nfor Ines")),
        {"hands_off"},
    ),
    "Owen given his half hour": (also(IDEAL, 3, make("Owen: Novadent", "12T11:15", "12T11:45")), {"hands_off"}),
    "the inbox tidied": (also(IDEAL, 1, archive("em-news-1")), {"hands_off"}),
    "the stand-up removed": (also(IDEAL, 1, remove("evt-thu-standup")), {"hands_off"}),
    "the private hold moved": (also(IDEAL, 1, move("evt-thu-hold", "11T07:00", "11T20:00")), {"hands_off"}),
    "the wrong person asked": (
        instead(
            IDEAL,
            ask_daniel=email(
                OWEN, "Pricing review", "Hi Daniel,\n\ncould we move it to Friday 12 June at 12:30? Thanks!"
            ),
        ),
        {"hands_off"},
    ),
    "curt with Ray": (
        instead(
            IDEAL,
            ask_ray=text("Tomorrow 1pm is off. Friday 12 June 11:00."),
            accept_ray=text("Friday 12 June 12:45."),
            ask_ray_again=text("12:45 is off. Friday 12 June 13:30."),
            confirm_ray=text("Friday 12 June 13:30."),
        ),
        {"courteous"},
    ),
    "long-winded": (
        also(
            IDEAL,
            1,
            email(
                GRETA, "PS: LIMS panel", "Dear Greta,\n\nthank you. " + "This is a long story about the panel. " * 25
            ),
        ),
        {"courteous", "few_messages"},
    ),
}

# Others who do it right, in other words and ways.
HONEST: dict[str, Day] = {
    "terse, twelve-hour clock": {
        1: {
            "d": email(
                DANIEL,
                "Pricing review",
                "Daniel, sorry, Ines can't make Thursday. Could we do Monday the 15th at 2pm instead? Thanks.",
            ),
            "s": email(
                SABINE,
                "Walkthrough",
                "Dear Sabine, apologies: Ines is unavailable on Thursday. Would Tuesday 16 June at half past three"
                " London time work?",
            ),
            "r": text("Hi Ray, sorry, Thursday's off for Ines. Friday at quarter to one instead?"),
            "a": move("evt-thu-onboarding", "12T14:00", "12T15:00"),
            "p": decline("evt-thu-panel"),
            "g": email(
                GRETA,
                "Panel",
                "Hi Greta, sorry, Ines won't be at the LIMS panel on Thursday. Please carry on without her.",
            ),
        },
        2: {
            "d": email(DANIEL, "Re: Pricing review", "Hi Daniel, 4pm on Tuesday is perfect. Thanks, confirmed."),
            "dm": move("evt-thu-pricing", "16T16:00", "16T17:00"),
            "s": email(SABINE, "Re: Walkthrough", "Dear Sabine, that works for Ines, thank you. See you then!"),
            "sm": move("evt-thu-walkthrough", "15T11:30", "15T12:15"),
            "rm": move("evt-thu-handover", "12T12:45", "12T13:15"),
        },
        5: {"r": text("Hi Ray, sorry to be a pain, Friday 12:45 no longer works. Any chance of 1:30pm that day?")},
        6: {
            "rm": move("evt-thu-handover", "12T13:30", "12T14:00"),
            "o": chat(
                "All done. Your pricing review with Daniel is now on Tue 16 June at 4pm (he agreed) and Sabine's"
                " walkthrough on Mon 15 June at 11:30am (agreed, that's 12:30 for her). On Friday you meet Ray at"
                " 1:30 pm and Aisha at 2 pm, both agreed. I declined the vendor panel and Greta knows. Note that"
                " North Thames now starts at noon and ends at 1:30 pm on Friday."
            ),
        },
    },
    "a table, Berlin's time for Sabine": instead(
        IDEAL,
        accept_sabine=email(
            SABINE,
            "Re: SPREE-2 call",
            "Dear Dr. Keller,\n\nthank you, Monday, 15 June, 12:30 CEST is confirmed.\n\nKind regards",
        ),
        overview=chat(
            "## Overview\n\n| Meeting | With | New time (London) | Agreed |\n|---|---|---|---|\n"
            "| Q3 pricing review | Daniel Okafor | Tue 16 Jun, 16:00–17:00 | yes |\n"
            "| Trial data walkthrough | Dr Sabine Keller | Mon 15 Jun, 11:30–12:15 | yes |\n"
            "| Freezer key handover | Ray Tully | Fri 12 Jun, 13:30–14:00 | yes |\n"
            "| Onboarding plan | Aisha Rahman | Fri 12 Jun, 14:00–15:00 | accepted |\n\n"
            "**LIMS vendor panel:** invitation declined, Greta informed.\n"
            "**Contract review (North Thames):** moved by them to Fri 12:00–13:30."
        ),
    ),
    "under headings, by day": instead(
        IDEAL,
        overview=chat(
            "**Friday 12 June**\n- 13:30–14:00 Freezer key handover with Ray (agreed by text)\n- 14:00–15:00"
            " Onboarding plan with Aisha (accepted)\n- 12:00–13:30 North Thames contract review, moved by Philippa"
            " Grant\n\n**Monday 15 June**\n- 11:30–12:15 Trial data walkthrough with Sabine (agreed)\n\n**Tuesday 16"
            " June**\n- 16:00–17:00 Q3 pricing review with Daniel (agreed)\n\nLIMS panel: declined in your name,"
            " Greta has been told."
        ),
    ),
}

# Others who make a show of work.
CARELESS: dict[str, Day] = {
    "moves everything and asks nobody": {
        1: {
            "a": move("evt-thu-pricing", "12T12:30", "12T13:30"),
            "b": move("evt-thu-walkthrough", "12T13:30", "12T14:15"),
            "c": move("evt-thu-handover", "12T14:15", "12T14:45"),
            "d": move("evt-thu-onboarding", "15T10:30", "15T11:30"),
            "e": chat("Everything is moved."),
        }
    },
    "promises only": {
        1: {"a": chat("I'll take care of Daniel, Sabine, Ray, Aisha, the panel and the contract review.")}
    },
    "cancels the day": {
        1: {
            f"{number}": remove(f"evt-thu-{name}")
            for number, name in enumerate(("pricing", "walkthrough", "handover", "onboarding", "panel"))
        }
    },
    "tells everybody everything": {
        1: {
            str(number): email(
                to,
                "Thursday",
                "Dear all, Ines is in Basel for the Helvia talks tomorrow, everything is cancelled, sorry!",
            )
            for number, to in enumerate((DANIEL, SABINE, AISHA, GRETA, OWEN))
        }
    },
}
