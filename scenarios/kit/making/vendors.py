"""Vendors of a day, each with a firm of its own."""

from dataclasses import replace

from scenarios.kit.making.days import Day
from scenarios.kit.making.names import last_names
from scenarios.kit.making.people import Person
from scenarios.kit.making.voices import phrase
from scenarios.kit.making.worlds import _slug


def vendor(day: Day, key: str) -> Person:
    """The vendor who plays a part, in the address book like everybody else, and the only one of their firm."""
    if key not in day.world.roles:
        draws = day.draws.of("vendor", key)
        made = day.world._newcomer(draws.of("person"), "vendor")
        taken = {person.organisation for person in (*day.world.everyone, *day.world.services)}
        firms = (
            f"{draws.pick(last_names('en_GB'), attempt)} {phrase(draws.of(attempt), 'firmkind')}"
            for attempt in range(99)
        )
        firm = next(firm for firm in firms if firm not in taken)
        email = f"{made.email.partition('@')[0]}@{_slug(firm)}.example"
        day.world.roles[key] = replace(made, key=key, organisation=firm, email=email)
    return day.world.roles[key]
