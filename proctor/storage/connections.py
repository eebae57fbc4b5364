"""The connection to Temporal, from the SDK's own environment configuration.

The source is a profile (``TEMPORAL_PROFILE``) in a file (``TEMPORAL_CONFIG_FILE``, by default
``temporalio/temporal.toml`` in the user's folder for settings). The variables ``TEMPORAL_ADDRESS``, ``_NAMESPACE``,
``_API_KEY``, ``_TLS…`` and ``_GRPC_META_…`` override the profile. All of Temporal's tools work this way.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from temporalio.envconfig import ClientConfigProfile

from purple_sdk.protocol.problems import Problem

_WHERE = ("target_host", "namespace")


class ConnectionSettingsError(ValueError):
    """The environment's connection settings are invalid; the message is a sentence."""


@dataclass(frozen=True)
class Profile:
    """Connection settings: ``address`` and ``namespace`` if set, and other ``options`` for ``Client.connect``."""

    address: str | None = None
    namespace: str | None = None
    options: Mapping[str, Any] = field(default_factory=dict)


def read_profile() -> Profile:
    """Read the connection settings from the environment. Raises ``ConnectionSettingsError``."""
    try:
        profile = ClientConfigProfile.load()
        connect_config = profile.to_client_connect_config()
    except Exception as error:  # the SDK's error class is not public
        reason = " ".join(str(error).split())
        raise ConnectionSettingsError(
            Problem(
                f"the connection to Temporal can't be read from TEMPORAL_* and temporal.toml ({reason})",
                "mend it, or set TEMPORAL_CONFIG_FILE to another file",
            )
        ) from None
    options = {name: value for name, value in connect_config.items() if name not in _WHERE}
    return Profile(profile.address or None, profile.namespace or None, options)
