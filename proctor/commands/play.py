"""``proctor play``: be the participant yourself."""

from typing import Annotated

import typer

from proctor.commands.options import JsonFileOption, MaxTurnsOption, ScenariosOption, SeedOption, WholeOption


def play(
    scenario: Annotated[str, typer.Argument(metavar="SCENARIO", help="A scenario's id, or its folder.")],
    gateway_url: Annotated[
        str | None,
        typer.Option("--gateway", metavar="URL", help="A running evaluator.  [default: one that is started for this]"),
    ] = None,
    seed: SeedOption = None,
    max_turns: MaxTurnsOption = None,
    with_models: Annotated[
        bool, typer.Option("--with-models", help="Models play the people and judge; without, scripts and checks do.")
    ] = False,
    json_file: JsonFileOption = None,
    is_whole: WholeOption = False,
    scenarios_dir: ScenariosOption = None,
) -> None:
    """Be the participant yourself, turn by turn, and see the score. Lines may come from a pipe; Ctrl-C cancels."""
    from proctor.play.command import PlayOptions, run_play

    options = PlayOptions(
        scenario=scenario,
        gateway_url=gateway_url,
        scenarios_dir=scenarios_dir,
        seed=seed,
        max_turns=max_turns,
        with_models=with_models,
        json_file=json_file,
        is_whole=is_whole,
    )
    raise typer.Exit(run_play(options))
