"""Phone numbers, which people write in many ways and which are kept in one."""

import re

_GROUPING = re.compile(r"[\s().\-/\u00a0]")


def normal(number: str) -> str:
    """A phone number in an E.164-like form: no spaces, dots, dashes, slashes or brackets; ``00`` in front is ``+``.

    What isn't a number (a short code, a sender's name such as ``BANK``) stays as it is.
    """
    bare = _GROUPING.sub("", number)
    if not re.fullmatch(r"\+?\d{3,}", bare):
        return number.strip()
    return f"+{bare[2:]}" if bare.startswith("00") else bare
