"""A2A context ids as keywords of Temporal's visibility store.

Callers choose context ids, and the store's query language has no literal that finds every string: with a backslash or
a double quote in it, SQLite's matches nothing. So what is kept and asked for is percent-encoded, which leaves the
usual ids (UUIDs, words) as they are, and nothing in a query that could be more than a string.
"""

from urllib.parse import quote, unquote

from a2a.utils.errors import InvalidParamsError

_PLAIN = " -._~:/@+="
_LONGEST = 255
"""Characters of a keyword that every store keeps."""


def context_keyword(context_id: str) -> str:
    return quote(context_id, safe=_PLAIN)


def context_of(keyword: str | None) -> str:
    """The context id that a keyword stands for; empty where there is none."""
    return unquote(keyword or "")


def check_context_id(context_id: str) -> None:
    """Refuse a context id that can't be kept. Raises InvalidParamsError (too long, or with control characters)."""
    if len(context_keyword(context_id)) > _LONGEST or not context_id.isprintable():
        raise InvalidParamsError(
            f"The message's contextId ({len(context_id)} characters) can't be kept: use at most {_LONGEST} letters, "
            "digits and hyphens, such as a UUID."
        )
