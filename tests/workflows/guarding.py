"""Workflows in Temporal's sandbox, where whatever isn't deterministic fails: the clock, chance, files, the network.

Workers run them without it, since going in and out is a good part of what a step of a workflow costs. So it stands
where what they have recorded is played again, and guards more than it could there: our own room of workflows is
imported anew for every one of them, and only what they may call is not.
"""

from typing import Any

from temporalio.worker.workflow_sandbox import SandboxedWorkflowRunner, SandboxRestrictions

_CALLED = (
    "proctor.a2a_gateway",
    "proctor.activities",
    "proctor.terminal",
    "isodate",
    "proctor.observing",
    "proctor.processes",
    "proctor.language",
    "proctor.protocol",
    "proctor.settings",
    "proctor.storage",
    "purple_sdk",
    "pydantic",
    "proctor.workflows.limits",  # nothing but numbers, which some tests change
)


class _OnlyWhatIsPlayed(SandboxedWorkflowRunner):
    """Imports a workflow when one is played; a worker would try out all that it knows, before every replay."""

    def prepare_workflow(self, defn: Any) -> None:
        pass


def guarded_runner() -> SandboxedWorkflowRunner:
    """How workflows are replayed in tests."""
    return _OnlyWhatIsPlayed(restrictions=SandboxRestrictions.default.with_passthrough_modules(*_CALLED))
