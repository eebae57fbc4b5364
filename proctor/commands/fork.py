"""``proctor fork``: begin with another assessment's turns, and play the rest. The other one stays as it is."""

from typing import Annotated

import typer

from proctor.commands.options import AtOnceOption, GatewayOption, QuietOption


def fork(
    task_id: Annotated[
        str, typer.Argument(metavar="TASK", help="The assessment's id, or a beginning that only it has.")
    ],
    from_turn: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="The first turn that is played again; those before it stay.")
    ] = None,
    evening: Annotated[
        int | None,
        typer.Option(metavar="N", min=1, help="Instead: the day after whose evening the fork begins, 1 for the first."),
    ] = None,
    every_turn: Annotated[bool, typer.Option("--every-turn", help="Forks from each turn that it has played.")] = False,
    agent: Annotated[
        list[str] | None,
        typer.Option(
            "--agent",
            metavar="[NAME=]URL",
            help="Who plays the rest; of several roles, ROLE=URL plays that one.  [default: the same agent]",
        ),
    ] = None,
    seed: Annotated[
        int | None, typer.Option(metavar="N", help="What characters do from there on.  [default: the same seed]")
    ] = None,
    repeats: Annotated[int | None, typer.Option(metavar="K", min=1, help="How often each is played.")] = None,
    at_once: AtOnceOption = None,
    max_turns: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="The largest number of turns, inherited ones counted.")
    ] = None,
    gateway_url: GatewayOption = None,
    output: Annotated[str, typer.Option(metavar="FOLDER", help="Gets a folder with the results of several.")] = "runs",
    json_file: Annotated[
        str | None, typer.Option("--json", metavar="FILE", help="Write the exact result of one; - is standard output.")
    ] = None,
    quiet: QuietOption = False,
) -> None:
    """Begin with another assessment's turns, and play the rest. The other one stays as it is."""
    from proctor.fork import ForkOptions, run_fork
    from proctor.settings import default_gateway

    options = ForkOptions(
        task_id=task_id,
        gateway_url=gateway_url or default_gateway(),
        from_turn=from_turn,
        evening=evening,
        every_turn=every_turn,
        agents=tuple(agent or ()),
        seed=seed,
        repeats=repeats,
        at_once=at_once,
        max_turns=max_turns,
        json_file=json_file,
        output=output,
        quiet=quiet,
    )
    raise typer.Exit(run_fork(options))
