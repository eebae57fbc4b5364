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
def _provider(kind: str, locale: str) -> type:
    return import_module(f"faker.providers.{kind}.{locale}").Provider  # type: ignore[no-any-return]


def _plain(names: object) -> tuple[str, ...]:
    return tuple(name for name in dict.fromkeys(names) if name.isalpha() and len(name) > 2)  # type: ignore[call-overload]


@cache
def first_names(locale: str) -> tuple[str, ...]:
    """First names of a locale, without double names."""
    women, men = _women(locale), _men(locale)
    return tuple(dict.fromkeys((*women, *men)))


@cache
def _women(locale: str) -> tuple[str, ...]:
    return _plain(_provider("person", locale).first_names_female)  # type: ignore[attr-defined]


@cache
def _men(locale: str) -> tuple[str, ...]:
    return _plain(_provider("person", locale).first_names_male)  # type: ignore[attr-defined]


@cache
def last_names(locale: str) -> tuple[str, ...]:
    """Last names of a locale, without double names."""
    return _plain(_provider("person", locale).last_names)  # type: ignore[attr-defined]


@cache
def _genders() -> dict[str, str]:
    found: dict[str, str] = {}
    for locale in LOCALES:
        for names, letter in ((_women(locale), "f"), (_men(locale), "m")):
            for name in names:
                found[name] = letter if found.get(name, letter) == letter else ""
    return found


def gender(first: str) -> str:
    """``f`` or ``m`` where all lists agree on a first name, else empty."""
    return _genders().get(first, "")
