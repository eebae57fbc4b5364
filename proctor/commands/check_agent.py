"""``proctor check-agent``: play a miniature assessment with an agent, and say what it does right and wrong."""

from typing import Annotated

import typer

from proctor.commands.options import HarnessModelOption, HarnessOption, ModelUrlOption, ProgramOption


def check_agent(
    url: Annotated[
        str | None, typer.Argument(metavar="[URL]", help="The agent's address, such as http://localhost:8001.")
    ] = None,
    harness: HarnessOption = None,
    model: HarnessModelOption = None,
    model_url: ModelUrlOption = None,
    program: ProgramOption = None,
    timeout: Annotated[
        float, typer.Option(metavar="SECONDS", min=0.1, max=3600, help="How long the agent has for each message.")
    ] = 60.0,
    host: Annotated[
        str | None,
        typer.Option(metavar="HOST", help="This machine's address, as the agent reaches it.  [default: 127.0.0.1]"),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the findings as JSON.")] = False,
) -> None:
    """Play a miniature assessment with an agent, and say what it does right and wrong."""
    from proctor.agent_check.command import check_agent
    from proctor.harness_runs import choose_harness

    choice = choose_harness(harness, model, model_url, program, has_agent=url is not None)
    raise typer.Exit(check_agent(url or "", timeout=timeout, host=host, as_json=as_json, harness=choice))
