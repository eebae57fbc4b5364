"""``proctor cancel``: cancel an assessment, or a campaign as a whole. Results so far are kept."""

from proctor.commands.options import GatewayOption, TaskIdArgument, TokenFileOption


def cancel(
    name: TaskIdArgument,
    gateway_url: GatewayOption = None,
    token_file: TokenFileOption = None,
) -> None:
    """Cancel an assessment, or a campaign as a whole. Results so far are kept."""
    from proctor.settings import default_gateway
    from proctor.under_way_commands import run_cancel

    run_cancel(gateway_url or default_gateway(), name)
