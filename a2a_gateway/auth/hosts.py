"""Checks of a request's ``Host`` and ``Origin``, which keep other people's web pages away.

Any page can make its visitor's browser send requests to the evaluator. If the page's own name points to this machine
(DNS rebinding), it could also read the answers. A request must therefore name the evaluator by an address, by a name
without dots, or by a configured name. A request that changes something must not come from another site.
"""

from collections.abc import Sequence
from ipaddress import ip_address
from urllib.parse import urlsplit

from starlette.datastructures import Headers

from proctor.settings.config import GreenAgentConfig

SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
"""Methods that change nothing."""

ANY_HOST = "*"
_NO_NAME = frozenset("@/?#\\")
"""Characters that may follow or precede a name in a URL, but that a ``Host`` must not contain."""


def split_words(text: str) -> list[str]:
    return text.replace(",", " ").split()


class Hosts:
    """The names that the gateway answers to, and the sites whose pages may send requests."""

    def __init__(self, config: GreenAgentConfig, origins: Sequence[str] = ()) -> None:
        named = [urlsplit(config.effective_card_url).hostname or "", config.host, *split_words(config.hosts)]
        self._names = {name.lower().rstrip(".") for name in named if name}
        self.origins = [origin.rstrip("/") for origin in [*split_words(config.cors_origins), *origins]]

    def problem_of_host(self, headers: Headers) -> str | None:
        """Return why a request isn't for us, as a sentence; None if it is."""
        host = headers.get("host", "")
        if not host or ANY_HOST in self._names:
            return None
        name = _parse_name(host)
        if name is not None and (name in self._names or _is_no_public_name(name)):
            return None
        return (
            f"This evaluator doesn't answer to the name {host[:200]!r}: have AGENTBEATS_GREEN_HOSTS name it, or the "
            "card's address (--card-url)."
        )

    def problem_of_origin(self, method: str, headers: Headers) -> str | None:
        """Return why a request may not come from its origin, as a sentence; None if it may."""
        if method in SAFE_METHODS:
            return None
        origin = headers.get("origin")
        if origin is None:
            is_ours = headers.get("sec-fetch-site", "none") in ("none", "same-origin")
        else:
            is_ours = origin in self.origins or _is_same_host(origin, headers.get("host", ""))
        if is_ours:
            return None
        return (
            f"Pages of {(origin or 'other sites')[:200]} may not ask this evaluator for anything: where they should, "
            "have AGENTBEATS_GREEN_CORS_ORIGINS name that origin."
        )


def _is_same_host(origin: str, host: str) -> bool:
    try:
        netloc = urlsplit(origin).netloc
    except ValueError:
        return False
    return bool(netloc) and netloc == host


def _parse_name(host: str) -> str | None:
    """Return the name in a ``Host`` header, without its port; None if the header has another form."""
    if not _NO_NAME.isdisjoint(host):
        return None
    try:
        return (urlsplit(f"//{host}").hostname or "").rstrip(".")
    except ValueError:
        return None


def _is_no_public_name(name: str) -> bool:
    """Tell whether no stranger can redirect a name elsewhere: it is an address, or has no dots."""
    if "." not in name and ":" not in name:
        return bool(name)
    try:
        ip_address(name)
    except ValueError:
        return name.endswith(".localhost")
    return True
