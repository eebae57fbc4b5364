"""Lists of names, copied from Faker once; ``Draws`` chooses among them, never Faker."""

from functools import cache
from importlib import import_module

LOCALES = ("en_GB", "en_US", "en_IE", "de_DE", "fr_FR")

AMBIGUOUS = frozenset(
    (
        *("April", "Art", "August", "Autumn", "Bill", "Day", "Dawn", "Friday", "Hope", "Jan", "June", "Juli", "Mai"),
        *("March", "Mark", "May", "Noon", "Page", "Price", "Summer", "Will", "Winter"),
    )
)
"""Names that people don't get: words of dates, and words with another meaning in a day's texts."""


@cache
def _lists(locale: str) -> tuple[tuple[str, ...], ...]:
    """First names of women and of men, and last names."""
    provider = import_module(f"faker.providers.person.{locale}").Provider
    lists = (provider.first_names_female, provider.first_names_male, provider.last_names)
    return tuple(tuple(name for name in dict.fromkeys(names) if name.isalpha() and len(name) > 2) for names in lists)


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
    """``f`` or ``m`` if all lists agree on a first name, else empty."""
    return _genders().get(first, "")
