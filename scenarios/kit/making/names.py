"""Lists of names, taken from Faker once; choices among them are made by ``Draws``, never by Faker."""

from functools import cache
from importlib import import_module

LOCALES = ("en_GB", "en_US", "en_IE", "de_DE", "fr_FR")

AMBIGUOUS = frozenset(
    (
        *("April", "Art", "August", "Autumn", "Bill", "Day", "Dawn", "Friday", "Hope", "Jan", "June", "Juli", "Mai"),
        *("March", "Mark", "May", "Noon", "Page", "Price", "Summer", "Will", "Winter"),
    )
)
"""Names that are words of dates, or words that the texts of a day may use otherwise: people are not called so."""


@cache
def _lists(locale: str) -> tuple[tuple[str, ...], ...]:
    """First names of women and of men, and last names."""
    provider = import_module(f"faker.providers.person.{locale}").Provider
    lists = (provider.first_names_female, provider.first_names_male, provider.last_names)
    return tuple(tuple(name for name in dict.fromkeys(each) if name.isalpha() and len(name) > 2) for each in lists)


@cache
def first_names(locale: str) -> tuple[str, ...]:
    """First names of a locale, without double names."""
    women, men, _ = _lists(locale)
    return tuple(dict.fromkeys((*women, *men)))


def last_names(locale: str) -> tuple[str, ...]:
    """Last names of a locale, without double names."""
    return _lists(locale)[2]


@cache
def _genders() -> dict[str, str]:
    found: dict[str, str] = {}
    for locale in LOCALES:
        for names, letter in zip(_lists(locale), "fm", strict=False):
            for name in names:
                found[name] = letter if found.get(name, letter) == letter else ""
    return found


def gender(first: str) -> str:
    """``f`` or ``m`` where all lists agree on a first name, else empty."""
    return _genders().get(first, "")
