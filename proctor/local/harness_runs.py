"""A CLI agent that a command starts as its participant (``--harness``). The agent ends with the command."""

import os
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from proctor.common.errors import UsageError, ending_as
from proctor.common.settings import LOOPBACK, read_settings
from proctor.local.stack import OF_GATEWAYS, answers, proctor_command
from proctor.service.supervisor import Service, Supervisor
from proctor.settings.config import GreenAgentConfig
from purple_sdk.harness import agents_files
from purple_sdk.harness.declared import HarnessError
from purple_sdk.harness.serving import require_playable as require_harness
from purple_sdk.processes.ports import free_ports
from purple_sdk.settings.config import HarnessConfig

STARTED = "http://127.0.0.1:9"
"""A placeholder for the address of a CLI agent that hasn't been started yet."""

_NOTICE = 15.0
"""The CLI agent is stopped this number of seconds before the turn's limit, to leave time to report the reason."""

_LONGEST_PAUSE = 1.0


def read_harness_settings(**flags: Any) -> HarnessConfig:
    """Return the settings of a CLI agent, which also hide the evaluator's state folder and scenarios from the agent."""
    config, evaluator = read_settings(HarnessConfig, **flags), read_settings(GreenAgentConfig)
    hidden = [config.hidden, evaluator.state, str(Path(evaluator.scenarios_dir).absolute())]
    return config.model_copy(update={"hidden": os.pathsep.join(hidden)})


@dataclass(frozen=True)
class HarnessChoice:
    """The CLI agent that the flags choose.

    Attributes:
        model_url: the address of the model.
        program: the agent's executable.
        turn_timeout: the time limit of a turn in seconds.
        max_cost, max_tokens: the limits of an assessment.
        is_terminal: whether the agent plays terminal tasks.
    """

    name: str
    model: str | None = None
    model_url: str | None = None
    program: str | None = None
    turn_timeout: float | None = None
    max_cost: float | None = None
    max_tokens: int | None = None
    is_terminal: bool = False

    def fields(self) -> dict[str, str | float]:
        seconds = None if self.turn_timeout is None else max(1.0, self.turn_timeout - _NOTICE)
        chosen = {
            "harness": self.name,
            "model": self.model,
            "model_base_url": self.model_url,
            "program": self.program,
            "turn_seconds": seconds,
            "max_cost": self.max_cost,
            "max_tokens": self.max_tokens,
        }
        return {name: value for name, value in chosen.items() if value is not None}


def choose_harness(
    name: str | None,
    model: str | None,
    model_url: str | None,
    program: str | None = None,
    turn_timeout: float | None = None,
    max_cost: float | None = None,
    max_tokens: int | None = None,
    *,
    has_agent: bool,
) -> HarnessChoice | None:
    """Read the choice of a CLI agent from the flags; None if they name an agent's address.

    Raises:
        UsageError: the flags name both a CLI agent and an address, or neither of them, or a model without a CLI agent.
    """
    if name is not None and has_agent:
        raise UsageError("--agent and --harness exclude each other: name an agent's address, or a CLI agent to start")
    if name is None:
        if not has_agent:
            raise UsageError(
                "no agent is named: give --agent URL for one that is served, or --harness NAME for a CLI agent such as "
                "claude-code (`proctor harness list`)"
            )
        own = {"--model": model, "--model-url": model_url, "--program": program}
        for flag, value in {**own, "--max-cost": max_cost, "--max-tokens": max_tokens}.items():
            if value is not None:
                raise UsageError(f"{flag} {value}: only a CLI agent has it; add --harness NAME")
        return None
    return HarnessChoice(name, model, model_url, program, turn_timeout, max_cost, max_tokens)


def choose_harnesses(
    names: Sequence[str], model: str | None, model_url: str | None, program: str | None, *, detach: bool
) -> dict[str, HarnessChoice]:
    """Read a campaign's choices from the flags: names of CLI agents to their choice.

    Raises:
        UsageError: a name occurs twice, ``--program`` is given for several agents, or ``detach`` is set: CLI agents end
            with the command.
    """
    if len(set(names)) < len(names):
        raise UsageError(f"--harness {', '.join(names)}: name each CLI agent once")
    if program is not None and len(names) > 1:
        raise UsageError(f"--program {program}: it is the executable of one CLI agent, and {len(names)} are named")
    if names and detach:
        raise UsageError("--detach and --harness exclude each other: CLI agents that a command starts end with it")
    return {
        name: choice
        for name in names
        if (choice := choose_harness(name, model, model_url, program, has_agent=False)) is not None
    }


def require_near(gateway_url: str) -> None:
    """Raise ``UsageError`` if the evaluator isn't on this machine. Other machines can't reach a command's CLI agent."""
    host = urlsplit(gateway_url).hostname or ""
    if host not in ("localhost", "127.0.0.1", "::1"):
        raise UsageError(
            f"the evaluator at {gateway_url} can't reach a CLI agent that is started here: serve it with "
            "`proctor agent harness NAME --host 0.0.0.0 --card-url URL`, and name its address with --agent"
        )


@asynccontextmanager
async def serving_harness(choice: HarnessChoice, gateway_url: str | None = None) -> AsyncIterator[str]:
    """Serve a CLI agent on a free port, for the evaluator at ``gateway_url``; yield the agent's address.

    If the agent's server dies, it is started again and finds the sessions of its assessments. At the end, the server is
    stopped and the sessions are removed.
    """
    if gateway_url is not None:
        require_near(gateway_url)
    require_playable(choice)
    port = free_ports(1)[0]
    url = f"http://{LOOPBACK}:{port}"
    with agents_files.temporary_folder("proctor-harness-") as folder:
        environment: Mapping[str, str | None] = {
            **dict.fromkeys(OF_GATEWAYS),
            **{f"AGENTBEATS_PURPLE_{name}".upper(): str(value) for name, value in choice.fields().items()},
            "AGENTBEATS_PURPLE_HOMES": f"{folder}/homes",
        }
        place = ("--host", LOOPBACK, "--port", str(port), *(("--terminal",) if choice.is_terminal else ()))
        command = proctor_command("agent", "harness", choice.name, *place)
        service = Service("harness", command, answers(f"{url}/.well-known/agent-card.json"), environment)
        lines: list[str] = []
        supervisor = Supervisor(
            [service], folder / "logs", lines.append, temporary=folder, longest_pause=_LONGEST_PAUSE
        )
        async with supervisor:
            await supervisor.start()
            yield url


def require_playable(choice: HarnessChoice) -> None:
    """Raise an error if a CLI agent can't play. Nothing is started."""
    with ending_as(UsageError, HarnessError):
        require_harness(read_settings(HarnessConfig, **choice.fields()), is_terminal=choice.is_terminal)
