"""``proctor check-agent``: play a miniature assessment with an agent, and say what it does right and wrong."""

from typing import Annotated

import typer


def check_agent(
    url: Annotated[str, typer.Argument(metavar="URL", help="The agent's address, such as http://localhost:8001.")],
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

    raise typer.Exit(check_agent(url, timeout=timeout, host=host, as_json=as_json))
