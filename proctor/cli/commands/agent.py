"""``proctor agent``: Agents that come with proctor."""

from collections.abc import Callable
from importlib import import_module
from typing import Annotated

import typer
from typer import Argument, Option

from proctor.cli import options
from proctor.cli.options import option

app = typer.Typer(no_args_is_help=True, help="Agents that come with proctor.", rich_markup_mode=None)


_EXAMPLES = {
    "triage": ("triage_agent", "TriageAgent", "Run the rule-based baseline for email_triage_basic."),
    "assistant": (
        "assistant_agent",
        "AssistantAgent",
        "Run the assistant that a language model drives (AGENTBEATS_PURPLE_MODEL).",
    ),
    "reschedule": ("reschedule_agent", "RescheduleAgent", "Run the rule-based agent for reschedule_day."),
}
"""Agents in ``purple_sdk.examples``: the module, the class and the command's help of each."""


def _make_command(module: str, kind: str) -> Callable[..., None]:
    def run(host: options.Host = None, port: options.Port = None, card_url: options.CardUrl = None) -> None:
        from proctor.common.errors import CommandError, UsageError, ending_as
        from proctor.common.settings import read_settings, warn_of_settings
        from purple_sdk.server import serve
        from purple_sdk.settings.config import PurpleAgentConfig

        config = read_settings(PurpleAgentConfig, host=host, port=port, card_url=card_url)
        warn_of_settings(config)
        agent = getattr(import_module(f"purple_sdk.examples.{module}"), kind)
        with ending_as(UsageError, Exception):
            agent(config)  # made once here: missing parts are reported now, not in an assessment
        with ending_as(CommandError, OSError):
            serve(agent, config)

    return run


for _name, (_module, _kind, _help) in _EXAMPLES.items():
    app.command(_name, help=_help)(_make_command(_module, _kind))


@app.command()
def harness(
    name: Annotated[str, Argument(metavar="NAME", help="A CLI agent, such as claude-code; see `harness list`.")],
    host: options.Host = None,
    port: options.Port = None,
    card_url: options.CardUrl = None,
    model: options.HarnessModel = None,
    model_url: options.ModelUrl = None,
    program: options.Program = None,
    max_cost: options.HarnessCost = None,
    max_tokens: options.HarnessTokens = None,
    is_terminal: bool = Option(False, "--terminal", help="Play Terminal-Bench tasks, not assessments."),
) -> None:
    """Run a CLI agent, such as Claude Code or Codex, as a participant."""
    from proctor.common.errors import CommandError, UsageError, ending_as
    from proctor.common.settings import warn_of_settings
    from proctor.local.harness_runs import read_harness_settings
    from purple_sdk.harness.declared import HarnessError
    from purple_sdk.harness.serving import serve_harness

    place = {"host": host, "port": port, "card_url": card_url}
    asked = {"model": model, "model_base_url": model_url, "max_cost": max_cost, "max_tokens": max_tokens}
    config = read_harness_settings(harness=name, program=program, **place, **asked)
    warn_of_settings(config)
    with ending_as(CommandError, OSError), ending_as(UsageError, HarnessError):
        serve_harness(config, is_terminal=is_terminal)


@app.command()
def terminal(
    host: options.Host = None,
    port: options.Port = None,
    card_url: options.CardUrl = None,
    model: str | None = option(None, "NAME", "The model.  [default: gpt-4o]"),
    base_url: options.BaseUrl = None,
    max_iterations: int | None = option(None, "N", "How often the model is asked for one task.", min=1),
    blocked: str | None = option(None, "NAMES", "Commands that it refuses to run, by commas."),
) -> None:
    """Run the agent that works in a terminal: a language model that runs commands."""
    from proctor.common.errors import CommandError, UsageError, ending_as
    from proctor.common.settings import read_settings, warn_of_settings
    from purple_sdk.examples.assistant_agent.models import ModelNotUsableError
    from purple_sdk.examples.terminal_agent.agent import TerminalAgentConfig
    from purple_sdk.examples.terminal_agent.executor import serve_terminal_agent

    place = {"host": host, "port": port, "card_url": card_url}
    asked = {"model": model, "model_base_url": base_url, "max_iterations": max_iterations, "blocked_commands": blocked}
    config = read_settings(TerminalAgentConfig, **place, **asked)
    warn_of_settings(config)
    with ending_as(CommandError, OSError), ending_as(UsageError, ModelNotUsableError):
        serve_terminal_agent(config)
