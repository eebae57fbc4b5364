"""``proctor replay``: reset an assessment to a turn and follow it. By default it continues from what failed."""

from typing import Annotated

import typer

from proctor.commands.options import GatewayOption, TokenFileOption


def replay(
    task_id: Annotated[str, typer.Argument(metavar="TASK", help="The assessment's task id, which is its workflow id.")],
    from_turn: Annotated[int | None, typer.Option(metavar="N", min=1, help="Play again from this turn on.")] = None,
    from_judging: Annotated[bool, typer.Option("--from-judging", help="Keep all turns, and judge again.")] = False,
    with_current_evaluators: Annotated[
        bool,
        typer.Option(
            "--with-current-evaluators",
            help="Judge again by the scenario's evaluators as they are now, not as they were at admission.",
        ),
    ] = False,
    gateway_url: GatewayOption = None,
    temporal_address: Annotated[
        str | None, typer.Option(help="Temporal's front end, host:port (default: the gateway's).")
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Reset a completed assessment without asking.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="Show nothing but errors.")] = False,
    token_file: TokenFileOption = None,
) -> None:
    """Reset an assessment to a turn and follow it. By default it continues from what failed."""
    from proctor.replay import ReplayOptions, run_replay
    from proctor.settings import default_gateway

    options = ReplayOptions(
        task_id=task_id,
        gateway_url=gateway_url or default_gateway(),
        temporal_address=temporal_address,
        from_turn=from_turn,
        from_judging=from_judging,
        with_current_evaluators=with_current_evaluators,
        is_agreed=yes,
        quiet=quiet,
    )
    raise typer.Exit(run_replay(options))
