"""A2A context ids as keywords of Temporal's visibility store.

Callers choose context ids, and the store's query language can't quote every string: with a backslash or a double quote,
SQLite's query matches nothing. The stored keyword is therefore percent-encoded. Usual ids (UUIDs, words) stay
unchanged, and a keyword in a query is never more than a string.
"""

from urllib.parse import quote, unquote

from a2a.utils.errors import InvalidParamsError

_PLAIN = " -._~:/@+="
_LONGEST = 255
"""The most characters of a keyword that every visibility store accepts."""


def context_keyword(context_id: str) -> str:
    return quote(context_id, safe=_PLAIN)


def decode_context(keyword: str | None) -> str:
    """Return the context id for a keyword; empty if there is none."""
    return unquote(keyword or "")


def check_context_id(context_id: str) -> None:
    """Refuse a context id that can't be stored. Raises InvalidParamsError if it is too long or has control
    characters.
    """
    if len(context_keyword(context_id)) > _LONGEST or not context_id.isprintable():
        raise InvalidParamsError(
            f"The message's contextId ({len(context_id)} characters) can't be kept: use at most {_LONGEST} letters, "
            "digits and hyphens, such as a UUID."
        )
