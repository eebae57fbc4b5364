"""The regular expressions of scenarios: RE2's, which are searched in time that only grows with the text's length.

Any text may be searched, whoever wrote it: no text makes a search stand still. RE2's syntax is Python's without what
can't be searched so: look-ahead and look-behind, back-references (https://github.com/google/re2/wiki/Syntax).
"""

from functools import lru_cache
from typing import Annotated, Any

import re2
from pydantic import AfterValidator, Field

_LONGEST = 20_000
_MOST_MEMORY = 32 * 1024 * 1024
_KEPT = 2048


@lru_cache(maxsize=_KEPT)
def compiled(pattern: str, *, match_case: bool = False) -> Any:
    """A compiled pattern, in which ``.`` matches line ends; it ignores case but for ``match_case``.

    Raises:
        ValueError: it is none; the message names the remedy.
    """
    if len(pattern) > _LONGEST:
        raise ValueError(f"the pattern has {len(pattern)} characters, more than {_LONGEST}: say it by several patterns")
    options = re2.Options()
    options.case_sensitive = match_case
    options.dot_nl = True
    options.log_errors = False
    options.max_mem = _MOST_MEMORY
    try:
        return re2.compile(pattern, options=options)
    except re2.error as problem:
        raise ValueError(_sentence(problem)) from None


def _sentence(problem: Exception) -> str:
    said = problem.args[0] if problem.args else ""
    said = said.decode(errors="replace") if isinstance(said, bytes) else str(said)
    if any(sign in said for sign in ("(?=", "(?!", "(?<", "(?>")) and "perl operator" in said:
        return (
            f"look-ahead and look-behind can't be searched in linear time ({said}): say it by several patterns, with "
            "all, any and none"
        )
    if said.startswith("invalid escape sequence: \\") and said[-1:].isdigit():
        return f"back-references can't be searched in linear time ({said}): say it by several patterns"
    return f"not a regular expression of RE2 ({said})"


def is_found(pattern: str, text: str) -> bool:
    """Whether a text has a pattern, ignoring case."""
    return compiled(pattern).search(text) is not None


def _check(pattern: str) -> str:
    compiled(pattern)
    return pattern


Pattern = Annotated[str, Field(min_length=1), AfterValidator(_check)]
