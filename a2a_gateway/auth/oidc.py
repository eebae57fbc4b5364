"""Tokens of an identity provider (OpenID Connect): signed by its keys, for us, and not expired.

Anybody can send what looks like a token. So the provider is asked neither for each unknown key nor again at once after
it didn't answer, and all requests to it share one thread: the other threads serve callers without such tokens.
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

from proctor.a2a_gateway.auth.hosts import words_of
from proctor.a2a_gateway.auth.tokens import RESERVED
from proctor.protocol.callers import Caller
from proctor.settings.config import GreenAgentConfig
from purple_sdk.processes.http_clients import make_sync_http_client, tls
from purple_sdk.protocol.problems import Problem

_ALGORITHMS = ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"]
"""Signatures that the provider alone can make; none with a shared secret, and never ``none``."""

_TIMEOUT = 5.0
_CLOCKS_APART = 30.0
"""Seconds that the provider's clock and ours may differ."""

_LONGEST_SUBJECT = 128
_LONGEST_NAME = 255
"""Characters of a keyword that every store of Temporal's keeps."""

_ASKED_AGAIN_AFTER = 10.0
"""Seconds for which a provider that didn't answer is left alone."""

_NEW_KEYS_AFTER = 30.0
"""Seconds after which an unknown key is reason to look whether the provider has new ones."""


_NO_ANSWER = (
    *(OSError, httpx.HTTPError, HTTPException),
    *(jwt.PyJWTError, ValueError, KeyError, TypeError, RecursionError),
)


class OidcUnavailableError(Exception):
    """The provider's keys can't be had just now; the message is a sentence."""


class OidcRefusedError(Exception):
    """A token that isn't good; the message says why."""


def discovery_url(issuer: str) -> str:
    """Where a provider describes itself (OpenID Connect Discovery 1.0)."""
    return f"{issuer.rstrip('/')}/.well-known/openid-configuration"


class Oidc:
    """The callers that a provider vouches for."""

    def __init__(self, config: GreenAgentConfig) -> None:
        assert config.oidc_issuer is not None
        self._issuer = config.oidc_issuer
        self._audience = config.oidc_audience
        self._jwks_url = config.oidc_jwks_url
        self._admins = frozenset(words_of(config.oidc_admins))
        self._turn = asyncio.Lock()
        self._keys: _Keys | None = None
        self._provider = _Provider(self._issuer)

    async def find_problem(self) -> Problem | None:
        """Why the provider's keys can't be read, as a sentence; None while they can."""
        async with self._turn:
            try:
                await asyncio.to_thread(lambda: self._client().fetch_data())
            except OidcUnavailableError as problem:
                return Problem.of(problem)
        return None

    async def find(self, text: str) -> Caller:
        """Whose a token is.

        Raises OidcRefusedError (it isn't good), OidcUnavailableError (the provider's keys can't be had).
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
            name = _name_of(claims["sub"])
        except jwt.ExpiredSignatureError:
            raise OidcRefusedError("The token has expired: get a new one.") from None
        except jwt.InvalidAudienceError:
            raise OidcRefusedError(
                f"The token is for another audience than this evaluator's, which is {self._audience!r} "
                "(AGENTBEATS_GREEN_OIDC_AUDIENCE): ask the provider for a token for it."
            ) from None
        except (jwt.PyJWTError, ValueError, RecursionError) as problem:
            raise OidcRefusedError(f"The token isn't good ({problem}).") from None
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
    """Whether the provider answers."""

    def __init__(self, issuer: str) -> None:
        self._issuer = issuer
        self._away_until = 0.0

    @contextmanager
    def asked(self) -> Iterator[None]:
        """While it is asked for something.

        Raises OidcUnavailableError (it doesn't answer, or didn't a moment ago; or not with what it should).
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
    """The provider's keys; it is left alone for a while after it didn't answer."""

    def __init__(self, url: str, provider: _Provider) -> None:
        super().__init__(url, timeout=_TIMEOUT, cooldown_duration=_NEW_KEYS_AFTER, ssl_context=tls())
        self._provider = provider

    def fetch_data(self) -> Any:
        with self._provider.asked():
            return super().fetch_data()


def _name_of(subject: object) -> str:
    """What a provider's subject is called here. Raises ValueError (it can't be called anything)."""
    if isinstance(subject, str) and 0 < len(subject) <= _LONGEST_SUBJECT:
        name = f"{RESERVED}:{quote(subject, safe='@')}"
        if len(name) <= _LONGEST_NAME:
            return name
    raise ValueError("its subject is not a name, or too long for one")
