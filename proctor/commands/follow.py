"""``proctor follow``: follow an assessment or a campaign, from its beginning. Ctrl-C leaves it alone."""

from typing import Annotated

import typer

from proctor.commands.options import GatewayOption, TaskIdArgument, TokenFileOption


def follow(
    name: TaskIdArgument,
    gateway_url: GatewayOption = None,
    output: Annotated[
        str | None, typer.Option(metavar="FOLDER", help="Gets a folder with a campaign's results.")
    ] = None,
    token_file: TokenFileOption = None,
) -> None:
    """Follow an assessment or a campaign, from its beginning. Ctrl-C leaves it alone."""
    from proctor.settings import default_gateway
    from proctor.under_way_commands import run_follow

    raise typer.Exit(run_follow(gateway_url or default_gateway(), name, output))
