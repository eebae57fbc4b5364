"""How to connect to Temporal, as the SDK's own environment configuration has it.

The variables ``TEMPORAL_ADDRESS``, ``_NAMESPACE``, ``_API_KEY``, ``_TLS…``, ``_GRPC_META_…`` override a profile
(``TEMPORAL_PROFILE``) of a file (``TEMPORAL_CONFIG_FILE``, by default ``temporalio/temporal.toml`` in the user's folder
for settings), as every tool of Temporal's reads them.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from temporalio.envconfig import ClientConfigProfile

from purple_sdk.protocol.problems import Problem

_WHERE = ("target_host", "namespace")


class ConnectionSettingsError(ValueError):
    """The environment doesn't say how to connect; the message is a sentence."""


@dataclass(frozen=True)
class Profile:
    """How to connect: where ``address`` and ``namespace`` are set, and all other ``options`` for ``Client.connect``."""

    address: str | None = None
    namespace: str | None = None
    options: Mapping[str, Any] = field(default_factory=dict)


def read_profile() -> Profile:
    """What the environment says of the connection to Temporal. Raises ``ConnectionSettingsError``."""
    try:
        profile = ClientConfigProfile.load()
        connect_config = profile.to_client_connect_config()
    except Exception as problem:  # the SDK's own error is no public class
        reason = " ".join(str(problem).split())
        raise ConnectionSettingsError(
            Problem(
                f"the connection to Temporal can't be read from TEMPORAL_* and temporal.toml ({reason})",
                "mend it, or set TEMPORAL_CONFIG_FILE to another file",
            )
        ) from None
    options = {name: value for name, value in connect_config.items() if name not in _WHERE}
    return Profile(profile.address or None, profile.namespace or None, options)
