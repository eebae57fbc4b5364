"""Models' endpoints with their keys. A key comes from the caller's environment, and only the relay reads it."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

from purple_sdk.harness.declared import HarnessError, Wire


@dataclass(frozen=True)
class _Provider:
    """A provider's address, the variables that may hold its key, the header for the key, and the version in paths."""

    address: str
    variables: tuple[str, ...]
    header: str
    prefix: str = ""
    version: str = ""


_OPENAI = _Provider("https://api.openai.com/v1", ("OPENAI_API_KEY",), "Authorization", "Bearer ", "/v1")
_PROVIDERS: dict[Wire, _Provider] = {
    "anthropic": _Provider("https://api.anthropic.com", ("ANTHROPIC_API_KEY",), "x-api-key"),
    "responses": _OPENAI,
    "chat": _OPENAI,
    "gemini": _Provider(
        "https://generativelanguage.googleapis.com", ("GEMINI_API_KEY", "GOOGLE_API_KEY"), "x-goog-api-key"
    ),
}


@dataclass(frozen=True)
class Upstream:
    """A model's endpoint.

    Attributes:
        address: the address without the part that requests' paths begin with.
        keeps_limits: whether no answer is longer than its request allows. Providers' own endpoints are known to enforce
            the limit; other endpoints may not know the field.
    """

    wire: Wire
    address: str
    headers: Mapping[str, str]
    keeps_limits: bool = False

    def url(self, path: str) -> str:
        """Return the endpoint's address for a request to the relay; ``path`` is as the CLI agent sent it."""
        return self.address + path.removeprefix(_PROVIDERS[self.wire].version)


def find_upstream(wire: Wire, base_url: str | None, environment: Mapping[str, str] | None = None) -> Upstream:
    """Return the endpoint of a protocol.

    Args:
        base_url: an endpoint to use instead of the provider's. For the OpenAI protocols it ends in a version, such as
            ``/v1``, which is added to an address without a path.
        environment: the caller's environment; by default this process's.

    Raises:
        HarnessError: the address is invalid, or the provider's key is missing.
    """
    provider = _PROVIDERS[wire]
    environment = os.environ if environment is None else environment
    key = next((environment[name] for name in provider.variables if environment.get(name)), None)
    if key is None and base_url is None:
        raise HarnessError(
            f"{' or '.join(provider.variables)} isn't set: set it to the key of the model's provider, or name another "
            "endpoint with --model-url"
        )
    address = (base_url or provider.address).rstrip("/")
    parts = urlsplit(address)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise HarnessError(f'--model-url "{base_url}" is not an address: write it as http://localhost:8080/v1')
    if provider.version:
        address += "" if parts.path.strip("/") else provider.version
    else:  # the requests' paths have the version
        address = address.removesuffix("/v1").removesuffix("/v1beta")
    headers = {} if key is None else {provider.header: f"{provider.prefix}{key}"}
    return Upstream(wire, address, headers, parts.hostname == urlsplit(provider.address).hostname)
