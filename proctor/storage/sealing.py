"""What callers entrust to the evaluator travels through Temporal sealed: only this deployment can read it."""

import base64
import hmac

from cryptography.fernet import Fernet, InvalidToken

from proctor.settings.config import GreenAgentConfig


class NotOursError(ValueError):
    """Something that this deployment's secret doesn't open."""


def seal(config: GreenAgentConfig, purpose: str, text: str) -> str:
    """Encrypt a text with the deployment's secret; ``unseal`` needs the same ``purpose``."""
    return _box(config, purpose).encrypt(text.encode()).decode()


def unseal(config: GreenAgentConfig, purpose: str, sealed: str) -> str:
    """The reverse of ``seal``. Raises ``NotOursError`` where it was sealed with another secret, or changed since."""
    try:
        return _box(config, purpose).decrypt(sealed.encode()).decode()
    except InvalidToken:
        raise NotOursError(
            "the sealed text can't be opened: gateway and worker need the same AGENTBEATS_GREEN_SECRET, and the one "
            "that they had when it was sealed"
        ) from None


def _box(config: GreenAgentConfig, purpose: str) -> Fernet:
    key = hmac.digest(config.secret.get_secret_value().encode(), f"seal {purpose}".encode(), "sha256")
    return Fernet(base64.urlsafe_b64encode(key))
