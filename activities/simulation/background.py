"""Background messages of noise: mails about nothing in the day, a Poisson stream drawn from the seed."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from math import log
from random import Random

from proctor.activities.simulation.hosts import PlannedEvent
from proctor.protocol.scenario import ScenarioConfig

_MEAN_HOURS = {1: 4.0, 2: 2.0, 3: 1.0}
"""The mean time between two of them, by level, in simulated hours."""

_SENDERS = (
    ("The Daily Bulletin", "bulletin@daily-bulletin.example"),
    ("Parcel Notices", "notices@parcel-notices.example"),
    ("City Library", "library@city-library.example"),
    ("Garden Club", "post@garden-club.example"),
    ("Weather Letter", "letter@weather-letter.example"),
    ("Account Service", "no-reply@account-service.example"),
)
_SUBJECTS = ("This week in short", "Our newsletter", "A summary for you", "News from us", "Our latest notes")
_OPENINGS = ("Good day,", "Hello,", "Dear reader,")
_SENTENCES = (
    "This is our regular letter, and you need to do nothing.",
    "There are some new articles on our pages.",
    "Our opening hours are unchanged.",
    "Thank you for being with us.",
    "A summary of the month is on our pages.",
    "We have made our pages easier to read.",
)
_CLOSINGS = ("Kind regards", "With best wishes", "Your team")


def background_messages(
    scenario: ScenarioConfig, seed: int, level: int, begins: datetime, ends: datetime
) -> Iterator[PlannedEvent]:
    """The mails that come in a day besides the scenario's own, by time; none at level 0."""
    draws, at = Random(f"background/{seed}/{level}"), begins
    while level and scenario.user.email:
        at += timedelta(seconds=round(-3600 * _MEAN_HOURS[level] * log(1 - draws.random()), 3))
        if at >= ends:
            return
        yield PlannedEvent(scheduled_time=at, modality="email", data=_mail(draws, scenario.user.email))


def _mail(draws: Random, to: str) -> dict[str, object]:
    name, address = draws.choice(_SENDERS)
    text = " ".join(draws.sample(_SENTENCES, 2))
    return {
        "operation": "receive",
        "from_address": address,
        "to_addresses": [to],
        "subject": f"{name}: {draws.choice(_SUBJECTS)}",
        "body_text": f"{draws.choice(_OPENINGS)}\n\n{text}\n\n{draws.choice(_CLOSINGS)}\n{name}",
    }
