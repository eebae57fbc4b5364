"""Encrypted payloads: Temporal's data is readable only with one of the deployment's payload keys.

The cipher is AES-256-GCM (``cryptography``), with a fresh nonce for each payload. A payload names its key, and the name
is authenticated. Keys can therefore be changed while assessments run: new payloads are written with the first key, and
old payloads are read with the key that wrote them. Data from the time before the first key stays readable.
"""

import base64
import binascii
import os
from collections.abc import Mapping, Sequence

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from temporalio.api.common.v1 import Payload
from temporalio.converter import PayloadCodec

from proctor.settings.config import GreenAgentConfig
from purple_sdk.protocol.problems import Problem

ENCODING, KEY_ID = "encoding", "encryption-key-id"
ENCRYPTED = b"binary/encrypted"
_NONCE = 12
_KEY = 32


class PayloadKeyError(ValueError):
    """A payload that none of our keys opens, or an invalid key; the message is a sentence."""


class EncryptedPayloads(PayloadCodec):
    """A codec that encrypts payloads with the first of several keys and reads payloads written with any of them.

    Args:
        keys: id to key (32 bytes); the first one encrypts.
    """

    def __init__(self, keys: Mapping[str, bytes]) -> None:
        self._keys = {key_id: AESGCM(key) for key_id, key in keys.items()}
        self._writes = next(iter(keys))

    async def encode(self, payloads: Sequence[Payload]) -> list[Payload]:
        return [self._encrypt(payload) for payload in payloads]

    async def decode(self, payloads: Sequence[Payload]) -> list[Payload]:
        """Decrypt payloads; plain ones stay unchanged. Raises ``PayloadKeyError`` if no key opens one of them."""
        return [self._decrypt(payload) for payload in payloads]

    def _encrypt(self, payload: Payload) -> Payload:
        nonce, name = os.urandom(_NONCE), self._writes.encode()
        sealed = self._keys[self._writes].encrypt(nonce, payload.SerializeToString(), name)
        return Payload(metadata={ENCODING: ENCRYPTED, KEY_ID: name}, data=nonce + sealed)

    def _decrypt(self, payload: Payload) -> Payload:
        if payload.metadata.get(ENCODING) != ENCRYPTED:
            return payload
        name = payload.metadata.get(KEY_ID, b"")
        key = self._keys.get(name.decode(errors="replace"))
        if key is None:
            raise PayloadKeyError(
                f"a payload was written with the key {name.decode(errors='replace')!r}, and "
                f"AGENTBEATS_GREEN_PAYLOAD_KEYS has {', '.join(self._keys)}: add that key behind them"
            )
        try:
            return Payload.FromString(key.decrypt(payload.data[:_NONCE], payload.data[_NONCE:], name))
        except (InvalidTag, ValueError):  # ValueError if the data is shorter than a nonce
            raise PayloadKeyError(
                f"a payload doesn't open with the key {name.decode()!r}: it was written with another one of that name, "
                "or changed since"
            ) from None


def payload_codec(config: GreenAgentConfig) -> EncryptedPayloads | None:
    """Return the codec for a deployment's payloads; None without keys. Raises ``PayloadKeyError``."""
    if config.payload_keys is None:
        return None
    return EncryptedPayloads(read_keys(config.payload_keys.get_secret_value()))


def read_keys(text: str) -> dict[str, bytes]:
    """Read keys in the form ``ID:BASE64``, separated by commas or spaces. Raises ``PayloadKeyError``."""
    keys: dict[str, bytes] = {}
    for number, word in enumerate(text.replace(",", " ").split(), start=1):
        key_id, _, encoded = word.partition(":")
        try:
            key = base64.b64decode(encoded, altchars=b"-_" if set(encoded) & set("-_") else None, validate=True)
        except binascii.Error:
            key = b""
        if not key_id or len(key) != _KEY or key_id in keys:
            raise PayloadKeyError(
                Problem(
                    f"AGENTBEATS_GREEN_PAYLOAD_KEYS: number {number} is not a key",
                    f"write ID:KEY, each ID once, where KEY is {_KEY} random bytes in base64 (`openssl rand -base64 "
                    f"{_KEY}`)",
                )
            )
        keys[key_id] = key
    if not keys:
        raise PayloadKeyError(Problem("AGENTBEATS_GREEN_PAYLOAD_KEYS is empty", "write ID:KEY, or don't set it at all"))
    return keys
