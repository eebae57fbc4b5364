"""What proctor's wheel needs besides ``pyproject.toml``: the light distribution of the same version.

An editable install has the light distribution's packages in the checkout itself, and needs none from elsewhere.
"""

from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class DependOnPurple(BuildHookInterface):  # type: ignore[type-arg]
    """Adds ``proctor-purple`` to the wheel's requirements."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Called by hatchling before it builds; ``version`` is ``standard`` or ``editable``."""
        if version == "standard":
            build_data["dependencies"].append(f"proctor-purple=={self.metadata.version}")
