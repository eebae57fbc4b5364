"""``proctor agent``: Agents that come with proctor."""

from collections.abc import Callable
from typing import Annotated

import typer
from typer import Argument, Option

from proctor.commands import options
from proctor.commands.options import option

app = typer.Typer(no_args_is_help=True, help="Agents that come with proctor.", rich_markup_mode=None)


_AGENTS = {
    "triage": "Run the rule-based baseline for email_triage_basic.",
    "clerk": "Run the rule-based baseline for families' days.",
    "assistant": "Run the assistant that a language model drives (AGENTBEATS_PURPLE_MODEL).",
    "reschedule": "Run the rule-based agent for reschedule_day.",
}


def _command_of(name: str) -> Callable[..., None]:
    def run(host: options.Host = None, port: options.Port = None, card_url: options.CardUrl = None) -> None:
        from proctor.services import run_agent

        run_agent(name, host=host, port=port, card_url=card_url)

    return run


for _name, _help in _AGENTS.items():
    app.command(_name, help=_help)(_command_of(_name))


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
    from proctor.services import run_harness

    run_harness(
        is_terminal=is_terminal,
        harness=name,
        host=host,
        port=port,
        card_url=card_url,
        model=model,
        model_base_url=model_url,
        program=program,
        max_cost=max_cost,
        max_tokens=max_tokens,
    )


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
    from proctor.services import run_terminal_agent

    run_terminal_agent(
        host=host,
        port=port,
        card_url=card_url,
        model=model,
        model_base_url=base_url,
        max_iterations=max_iterations,
        blocked_commands=blocked,
    )
