"""The ``Host`` and ``Origin`` of a request: they keep other people's web pages away.

A page from anywhere can have its browser send requests to the evaluator. With its own name that points to this machine
(DNS rebinding) it could read the answers, too. So a request has to name the evaluator by an address, by a name without
dots, or by a configured name. A request that changes something mustn't come from another site.
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
"""Characters that a URL may have beside the name, and a ``Host`` may not."""


def words_of(text: str) -> list[str]:
    return text.replace(",", " ").split()


class Hosts:
    """The names that the gateway answers to, and the sites whose pages may ask it."""

    def __init__(self, config: GreenAgentConfig, origins: Sequence[str] = ()) -> None:
        named = [urlsplit(config.effective_card_url).hostname or "", config.host, *words_of(config.hosts)]
        self._names = {name.lower().rstrip(".") for name in named if name}
        self.origins = [origin.rstrip("/") for origin in [*words_of(config.cors_origins), *origins]]

    def problem_of_host(self, headers: Headers) -> str | None:
        """Why a request isn't for us, as a sentence; None where it is."""
        host = headers.get("host", "")
        if not host or ANY_HOST in self._names:
            return None
        name = _name_in(host)
        if name is not None and (name in self._names or _is_no_public_name(name)):
            return None
        return (
            f"This evaluator doesn't answer to the name {host[:200]!r}: have AGENTBEATS_GREEN_HOSTS name it, or the "
            "card's address (--card-url)."
        )

    def problem_of_origin(self, method: str, headers: Headers) -> str | None:
        """Why a request may not come from where it comes, as a sentence; None where it may."""
        if method in SAFE_METHODS:
            return None
        origin = headers.get("origin")
        if origin is None:
            is_ours = headers.get("sec-fetch-site", "none") in ("none", "same-origin")
        else:
            is_ours = origin in self.origins or _is_of(origin, headers.get("host", ""))
        if is_ours:
            return None
        return (
            f"Pages of {(origin or 'other sites')[:200]} may not ask this evaluator for anything: where they should, "
            "have AGENTBEATS_GREEN_CORS_ORIGINS name that origin."
        )


def _is_of(origin: str, host: str) -> bool:
    try:
        netloc = urlsplit(origin).netloc
    except ValueError:
        return False
    return bool(netloc) and netloc == host


def _name_in(host: str) -> str | None:
    """The name in a ``Host`` header, without its port; None where it is more than a name and a port, or less."""
    if not _NO_NAME.isdisjoint(host):
        return None
    try:
        return (urlsplit(f"//{host}").hostname or "").rstrip(".")
    except ValueError:
        return None


def _is_no_public_name(name: str) -> bool:
    """Whether no stranger can have a name point where he likes: it is an address, or has no dots."""
    if "." not in name and ":" not in name:
        return bool(name)
    try:
        ip_address(name)
    except ValueError:
        return name.endswith(".localhost")
    return True
