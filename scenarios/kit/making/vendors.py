"""People who are made for a day, and added to its address book: vendors and namesakes."""

from dataclasses import replace

from proctor.scenarios.kit.making.days import Day
from proctor.scenarios.kit.making.names import last_names
from proctor.scenarios.kit.making.people import Person
from proctor.scenarios.kit.making.voices import phrase
from proctor.scenarios.kit.making.worlds import slug


def vendor(day: Day, key: str) -> Person:
    """The vendor who plays a part, and the only one of their firm."""
    if key not in day.world.roles:
        draws = day.draws.of("vendor", key)
        made = day.world.newcomer(draws.of("person"), "vendor")
        taken = {person.organisation for person in (*day.world.everyone, *day.world.services)}
        firms = (f"{draws.pick(last_names('en_GB'), n)} {phrase(draws.of(n), 'firmkind')}" for n in range(99))
        firm = next(firm for firm in firms if firm not in taken)
        email = f"{made.email.partition('@')[0]}@{slug(firm)}.example"
        day.world.roles[key] = replace(made, key=key, organisation=firm, email=email)
    return day.world.roles[key]


def namesake(day: Day, key: str, person: Person) -> Person:
    """A new person with another person's first name, who plays a part."""
    if key not in day.world.roles:
        made = day.world.newcomer(day.draws.of("namesake", key), "client")
        email = f"{person.first}.{made.last}@{made.email.partition('@')[2]}".lower().replace(" ", "")
        day.world.roles[key] = replace(made, key=key, first=person.first, email=email)
    return day.world.roles[key]
