"""The identification of a request's caller by its token."""

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from proctor.a2a_gateway.auth.tokens import Tokens, TokensError, tokens_path
from proctor.protocol.callers import ANYBODY, Caller, Quotas
from proctor.settings.config import GreenAgentConfig
from purple_sdk.protocol.problems import Problem

if TYPE_CHECKING:
    from proctor.a2a_gateway.auth.oidc import Oidc

LONGEST_TOKEN = 8_192
"""The largest number of characters in a token; longer ones are refused."""


class UnknownCallerError(Exception):
    """The caller is unknown; the message is a sentence for them."""


class IdentityUnavailableError(Exception):
    """The caller can't be identified at the moment; the message is a sentence."""


class Identity:
    """The callers of a deployment.

    Callers need a token once there is a file of tokens or an identity provider. Until then, each caller is ``ANYBODY``.
    If the file vanishes later, all callers are refused.
    """

    def __init__(self, config: GreenAgentConfig) -> None:
        self._tokens = Tokens(tokens_path(config))
        self._is_named = config.tokens_file is not None
        self._oidc = _provider(config) if config.oidc_issuer else None
        self._quotas = Quotas(
            at_once=config.quota_at_once, per_day=config.quota_per_day, cost_per_day=config.quota_cost_per_day
        )

    def find_problem_of_tokens(self) -> Problem | None:
        """Return why the file of tokens can't be used; None if it can, or there is none."""
        return self._tokens.find_problem() if self._is_named or self._tokens.is_there() else None

    def is_asked(self) -> bool:
        return self._oidc is not None or self._is_named or self._tokens.is_there()

    async def find(self, text: str) -> Caller:
        """Return the caller who owns a token; an empty token counts as missing.

        Raises:
            UnknownCallerError: the token is missing or invalid.
            IdentityUnavailableError: the token can't be checked at the moment.
        """
        if not self.is_asked():
            return ANYBODY
        if not text:
            raise UnknownCallerError("Say who you are: send a token as the header Authorization: Bearer TOKEN.")
        if len(text) > LONGEST_TOKEN:
            raise UnknownCallerError(f"The token has more than {LONGEST_TOKEN} characters: longer than any of ours.")
        return await self._find(text)

    async def _find(self, text: str) -> Caller:
        try:
            if self._oidc is not None and text.count(".") == 2:
                return await self._find_by_provider(self._oidc, text)
            token = self._tokens.find(text) if self._is_named or self._tokens.is_there() else None
        except TokensError as error:
            raise IdentityUnavailableError(str(error)) from None
        if token is None:
            raise UnknownCallerError("The token is unknown here: it was revoked, or is another evaluator's.")
        if token.is_expired(datetime.now(UTC)):
            raise UnknownCallerError("The token has expired: have a new one made (`proctor token create`).")
        return Caller(name=token.name, is_admin=token.is_admin, quotas=token.quotas.beneath(self._quotas))

    async def _find_by_provider(self, oidc: "Oidc", text: str) -> Caller:
        from proctor.a2a_gateway.auth.oidc import OidcRefusedError, OidcUnavailableError

        try:
            caller = await oidc.find(text)
        except OidcRefusedError as error:
            raise UnknownCallerError(str(error)) from None
        except OidcUnavailableError as error:
            raise IdentityUnavailableError(str(error)) from None
        return caller.model_copy(update={"quotas": self._quotas})


def _provider(config: GreenAgentConfig) -> "Oidc":
    """Import and open the provider. It is imported only if there is one, since the import brings all of
    ``cryptography``.
    """
    from proctor.a2a_gateway.auth.oidc import Oidc

    return Oidc(config)
