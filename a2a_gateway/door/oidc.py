"""Tokens of an identity provider (OpenID Connect): signed by its keys, for us, and not expired."""

import asyncio
import json
import threading
import urllib.request
from urllib.parse import quote

import jwt

from a2a_gateway.door.hosts import words_of
from a2a_gateway.door.tokens import RESERVED
from proctor_protocol.callers import Caller
from proctor_protocol.config import GreenAgentConfig

_ALGORITHMS = ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"]
"""Signatures that the provider alone can make; none with a shared secret, and never ``none``."""

_TIMEOUT = 5.0
_CLOCKS_APART = 30.0
"""Seconds that the provider's clock and ours may differ."""

_LONGEST_SUBJECT = 128


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
        self._lock = threading.Lock()
        self._keys: jwt.PyJWKClient | None = None

    async def find(self, text: str) -> Caller:
        """Whose a token is.

        Raises:
            OidcRefusedError: it isn't good.
            OidcUnavailableError: the provider's keys can't be had.
        """
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
        except jwt.PyJWKClientConnectionError:
            raise OidcUnavailableError(f"The keys of {self._issuer} can't be read: repeat this later.") from None
        except jwt.ExpiredSignatureError:
            raise OidcRefusedError("The token has expired: get a new one.") from None
        except (jwt.PyJWTError, ValueError) as problem:
            raise OidcRefusedError(f"The token isn't good ({problem}).") from None
        subject = claims["sub"]
        if not isinstance(subject, str) or not 0 < len(subject) <= _LONGEST_SUBJECT:
            raise OidcRefusedError("The token isn't good (its subject is no name).")
        return Caller(name=f"{RESERVED}:{quote(subject, safe='@')}", is_admin=subject in self._admins)

    def _client(self) -> jwt.PyJWKClient:
        with self._lock:
            if self._keys is None:
                self._keys = jwt.PyJWKClient(self._jwks_url or self._discover(), timeout=_TIMEOUT)
            return self._keys

    def _discover(self) -> str:
        try:
            with urllib.request.urlopen(discovery_url(self._issuer), timeout=_TIMEOUT) as answer:
                return str(json.load(answer)["jwks_uri"])
        except (OSError, ValueError, KeyError, TypeError):
            raise OidcUnavailableError(
                f"{discovery_url(self._issuer)} doesn't say where the provider's keys are: repeat this later, or set "
                "AGENTBEATS_GREEN_OIDC_JWKS_URL."
            ) from None
