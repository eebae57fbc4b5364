"""The part of the Python API that runs something on this machine; ``proctor.client.api`` has the rest."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from anyio.from_thread import start_blocking_portal

from proctor.client.api import run_to_end
from proctor.common.settings import LOOPBACK, read_settings, with_scenarios
from proctor.settings.config import GreenAgentConfig
from purple_sdk.protocol.results import AssessmentResults

if TYPE_CHECKING:
    from proctor.activities.scenario_code.families import Family
    from proctor.local.rehearsal import Script


def families(scenarios_dir: str | Path | None = None) -> "list[Family]":
    """The families of generated days, by name: each has ``name``, ``title`` and ``ability``.

    Args:
        scenarios_dir: a folder of scenarios. By default the folder of the settings, and proctor's own scenarios.

    Raises:
        CommandError: a family's description is missing or broken.
    """
    from proctor.local.families import load_families

    return load_families(scenarios_dir)


def rehearse(
    scenario: str,
    script: "Script",
    *,
    scenarios_dir: str | Path | None = None,
    seed: int = 7,
    difficulty: int | None = None,
    clock: str | None = None,
    noise: int | None = None,
) -> AssessmentResults:
    """Assess a script in this process, offline and without services. Tests of scenarios use this.

    Args:
        scenario: the scenario's id, or a family's name.
        script: ``await script(turn, ues, now)`` plays a turn (``proctor.local.rehearsal.Script``).
        scenarios_dir: the folder of the scenario. By default the scenarios that come with proctor.
        seed: decides all random choices, and which day a family makes.
        difficulty: the difficulty of a family's day, 1 to 4. By default 2.
        clock: as in ``assess``.
        noise: as in ``assess``.

    Raises:
        temporalio.exceptions.ApplicationError: the scenario can't be played; the message says why.
    """
    from proctor.local.rehearsal import rehearsing

    folder = Path(scenarios_dir or with_scenarios(read_settings(GreenAgentConfig)).scenarios_dir)
    with rehearsing(folder) as rehearsal:
        return run_to_end(rehearsal.play(scenario, script, seed=seed, difficulty=difficulty, clock=clock, noise=noise))


@contextmanager
def evaluator(*, archive: str | None = None, **settings: Any) -> Iterator[str]:
    """Run an evaluator on this machine: Temporal, simulator, worker and gateway, in child processes on free ports.

    Args:
        archive: a folder that keeps the assessments. By default they aren't kept.
        settings: fields of ``GreenAgentConfig``.

    Yields:
        The gateway's address.

    Raises:
        CommandError: a service didn't start; the message has the end of its log.
    """
    from proctor.local.stack import throwaway_stack
    from proctor.service.supervisor import Supervisor

    config = with_scenarios(read_settings(GreenAgentConfig, host=LOOPBACK, **settings))
    with (
        start_blocking_portal() as portal,
        tempfile.TemporaryDirectory(prefix="proctor-", ignore_cleanup_errors=True) as folder,
    ):
        stack = throwaway_stack(config, Path(folder), archive=archive)
        supervisor = Supervisor(stack.list_services(), stack.logs, say=lambda _line: None, temporary=stack.state)
        with portal.wrap_async_context_manager(supervisor):
            portal.call(supervisor.start)
            yield stack.gateway_url
