"""Tokens of an identity provider (OpenID Connect): signed by its keys, issued for us, and not expired.

Any client can send something that looks like a token. So the provider isn't asked about each unknown key, and not again
immediately after it failed to answer. All requests to the provider share one thread, which leaves the other threads to
other callers.
"""

import asyncio
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPException
from typing import Any
from urllib.parse import quote

import httpx
import jwt

from proctor.a2a_gateway.auth.hosts import split_words
from proctor.a2a_gateway.auth.tokens import RESERVED
from proctor.protocol.callers import Caller
from proctor.settings.config import GreenAgentConfig
from purple_sdk.processes.http_clients import make_sync_http_client, tls
from purple_sdk.protocol.problems import Problem

_ALGORITHMS = ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"]
"""The accepted signature algorithms: those that need the provider's private key. Algorithms with shared secrets and
``none`` are left out.
"""

_TIMEOUT = 5.0
_CLOCKS_APART = 30.0
"""The largest difference in seconds between the provider's clock and ours."""

_LONGEST_SUBJECT = 128
_LONGEST_NAME = 255
"""The most characters of a keyword that every visibility store of Temporal accepts."""

_ASKED_AGAIN_AFTER = 10.0
"""Seconds until a provider that didn't answer is asked again."""

_NEW_KEYS_AFTER = 30.0
"""Seconds since the last look at the provider's keys after which an unknown key leads to another look."""


_NO_ANSWER = (
    *(OSError, httpx.HTTPError, HTTPException),
    *(jwt.PyJWTError, ValueError, KeyError, TypeError, RecursionError),
)


class OidcUnavailableError(Exception):
    """The provider's keys are unavailable at the moment; the message is a sentence."""


class OidcRefusedError(Exception):
    """An invalid token; the message says why."""


def discovery_url(issuer: str) -> str:
    """Return the address of a provider's description (OpenID Connect Discovery 1.0)."""
    return f"{issuer.rstrip('/')}/.well-known/openid-configuration"


class Oidc:
    """The callers that a provider authenticates."""

    def __init__(self, config: GreenAgentConfig) -> None:
        assert config.oidc_issuer is not None
        self._issuer = config.oidc_issuer
        self._audience = config.oidc_audience
        self._jwks_url = config.oidc_jwks_url
        self._admins = frozenset(split_words(config.oidc_admins))
        self._turn = asyncio.Lock()
        self._keys: _Keys | None = None
        self._provider = _Provider(self._issuer)

    async def find_problem(self) -> Problem | None:
        """Return why the provider's keys can't be read, as a sentence; None if they can."""
        async with self._turn:
            try:
                await asyncio.to_thread(lambda: self._client().fetch_data())
            except OidcUnavailableError as error:
                return Problem.of(error)
        return None

    async def find(self, text: str) -> Caller:
        """Return the caller who owns a token.

        Raises:
            OidcRefusedError: the token is invalid.
            OidcUnavailableError: the provider's keys are unavailable.
        """
        async with self._turn:
            return await asyncio.to_thread(self._find, text)

    def _find(self, text: str) -> Caller:
        try:
            key = self._client().get_signing_key_from_jwt(text)
            claims = jwt.decode(
                text,
                key,
                algorithms=_ALGORITHMS,
                audience=self._audience,
                issuer=self._issuer,
                leeway=_CLOCKS_APART,
                options={"require": ["exp", "iss", "aud", "sub"]},
            )
            name = _make_name(claims["sub"])
        except jwt.ExpiredSignatureError:
            raise OidcRefusedError("The token has expired: get a new one.") from None
        except jwt.InvalidAudienceError:
            raise OidcRefusedError(
                f"The token is for another audience than this evaluator's, which is {self._audience!r} "
                "(AGENTBEATS_GREEN_OIDC_AUDIENCE): ask the provider for a token for it."
            ) from None
        except (jwt.PyJWTError, ValueError, RecursionError) as error:
            raise OidcRefusedError(f"The token isn't good ({error}).") from None
        return Caller(name=name, is_admin=claims["sub"] in self._admins)

    def _client(self) -> "_Keys":
        if self._keys is None:
            self._keys = _Keys(self._jwks_url or self._discover(), self._provider)
        return self._keys

    def _discover(self) -> str:
        url = discovery_url(self._issuer)
        with self._provider.asked(), make_sync_http_client(timeout=_TIMEOUT, follow_redirects=True) as http:
            return str(http.get(url).raise_for_status().json()["jwks_uri"])


class _Provider:
    """Remembers whether the provider answers."""

    def __init__(self, issuer: str) -> None:
        self._issuer = issuer
        self._away_until = 0.0

    @contextmanager
    def asked(self) -> Iterator[None]:
        """Handle the provider's failures while it is asked for something.

        Raises OidcUnavailableError if the provider doesn't answer, didn't answer a moment ago, or answers something
        unexpected.
        """
        if time.monotonic() < self._away_until:
            raise self._is_away()
        try:
            yield
        except _NO_ANSWER:
            self._away_until = time.monotonic() + _ASKED_AGAIN_AFTER
            raise self._is_away() from None

    def _is_away(self) -> OidcUnavailableError:
        return OidcUnavailableError(
            Problem(
                f"The keys of {self._issuer} can't be read",
                "repeat this later. If the provider doesn't publish their address, set AGENTBEATS_GREEN_OIDC_JWKS_URL.",
            )
        )


class _Keys(jwt.PyJWKClient):
    """The provider's keys. If the provider didn't answer, no request is sent for a while."""

    def __init__(self, url: str, provider: _Provider) -> None:
        super().__init__(url, timeout=_TIMEOUT, cooldown_duration=_NEW_KEYS_AFTER, ssl_context=tls())
        self._provider = provider

    def fetch_data(self) -> Any:
        with self._provider.asked():
            return super().fetch_data()


def _make_name(subject: object) -> str:
    """Return our name for a provider's subject. Raises ValueError if the subject can't be a name."""
    if isinstance(subject, str) and 0 < len(subject) <= _LONGEST_SUBJECT:
        name = f"{RESERVED}:{quote(subject, safe='@')}"
        if len(name) <= _LONGEST_NAME:
            return name
    raise ValueError("its subject is not a name, or too long for one")
