"""A CLI agent as an A2A server."""

import logging

from proctor_processes.guard import Guard
from proctor_settings.config import HarnessConfig, PurpleAgentConfig
from purple_sdk.harness.agent import HarnessAgent
from purple_sdk.harness.clis import find_harness
from purple_sdk.harness.installing import find_program, read_version
from purple_sdk.harness.launcher import find_missing_confinement
from purple_sdk.server import serve

_log = logging.getLogger(__name__)


def serve_harness(config: HarnessConfig) -> None:
    """Serve a CLI agent until SIGTERM or Ctrl-C.

    Raises:
        HarnessError: it isn't installed, is too old, or has no model or key.
        OSError: the address can't be listened on.
    """
    harness = find_harness(config.harness)
    version = read_version(harness, find_program(harness, config.program))
    HarnessAgent(config, harness)  # what is missing is reported now, and not in an assessment
    if missing := find_missing_confinement():
        _log.warning("%s is not confined: %s", harness.title, "; ".join(missing))
    guard = Guard()

    def make(_: PurpleAgentConfig) -> HarnessAgent:
        return HarnessAgent(config, harness, guard, version)

    try:
        serve(make, config, name=harness.name, description=f"{harness.title}, with the simulation's actions as tools.")
    finally:
        guard.dismiss()
