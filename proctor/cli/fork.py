"""``proctor fork``: plays the rest of another assessment again, perhaps by another agent."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from proctor.cli.assess_commands import AssessOptions, follow
from proctor.cli.campaign_runs import run_campaign
from proctor.client.caller import AssessmentCall
from proctor.client.run_settings import agents_in, checked
from proctor.common.errors import UsageError
from proctor.common.interrupts import interruption


@dataclass(frozen=True)
class ForkOptions:
    """What the person asked for; None stands for what the original had.

    Attributes:
        from_turn, every_turn: the first turn that is played again; with ``every_turn`` each, in forks of its own.
        evening: the day after whose evening it begins.
        repeats: how often each is played; where it is given, all are one campaign.
        json_file: gets the result of a single fork. output: gets a folder with those of a campaign.
    """

    task_id: str
    gateway_url: str
    from_turn: int | None = None
    evening: int | None = None
    every_turn: bool = False
    agents: Sequence[str] = ()
    seed: int | None = None
    repeats: int | None = None
    at_once: int | None = None
    max_turns: int | None = None
    json_file: str | None = None
    output: str = "runs"
    quiet: bool = False

    @property
    def is_campaign(self) -> bool:
        return self.every_turn or self.repeats is not None or len(self.agents) > 1

    def request(self) -> dict[str, Any]:
        agents = agents_in(self.agents, unnamed="agent" if self.is_campaign else "personal_assistant")
        config: dict[str, Any] = {"fork_of": self.task_id, "seed": self.seed, "max_turns": self.max_turns}
        if self.is_campaign:
            config |= {"from_turns": "every" if self.every_turn else [self.from_turn]}
            config |= {"repeats": self.repeats or 1, "at_once": self.at_once}
        else:
            config |= {"from_turn": self.from_turn, "from_evening": self.evening}
        chosen = {name: value for name, value in config.items() if value is not None}
        return {"participants": agents, "config": chosen}


async def run_fork(options: ForkOptions) -> None:
    """Play forks; Ctrl-C cancels them. Raises ``UsageError`` where what is asked for doesn't fit together."""
    if (options.from_turn is not None) + options.every_turn + (options.evening is not None) != 1:
        raise UsageError(
            "say from which turn on: --from-turn N, --evening N, or --every-turn for forks from each of them"
        )
    if options.evening is not None and options.is_campaign:
        raise UsageError("--evening is for a single fork: for several, name the turn with --from-turn")
    if not options.is_campaign:
        following = AssessOptions(options.gateway_url, json_file=options.json_file, quiet=options.quiet)
        call = AssessmentCall(options.gateway_url, json.dumps(options.request()))
        await follow(following, interruption(), call)
        return
    if options.json_file:
        raise UsageError("--json is for a single fork: the results of several are written to a folder of --output")
    request = checked(options.request(), "proctor fork")
    await run_campaign(request, options.gateway_url, options.output, quiet=options.quiet)
