"""``proctor run``: play a campaign. Agents × scenarios × seeds × repeats, and what they say together."""

from typing import Annotated, Any

import typer

from proctor.commands.options import (
    AtOnceOption,
    ClockOption,
    GatewayOption,
    HarnessModelOption,
    ModelUrlOption,
    NoiseOption,
    ProgramOption,
    QuietOption,
    TokenFileOption,
)


def run(
    what: Annotated[list[str], typer.Argument(metavar="SCENARIO…", help="Scenarios to play, or a campaign.toml.")],
    agent: Annotated[
        list[str] | None, typer.Option("--agent", metavar="NAME=URL", help="An agent; may be given several times.")
    ] = None,
    harness: Annotated[
        list[str] | None,
        typer.Option("--harness", metavar="NAME", help="A CLI agent to start; may be given several times."),
    ] = None,
    model: HarnessModelOption = None,
    model_url: ModelUrlOption = None,
    program: ProgramOption = None,
    seeds: Annotated[
        str | None, typer.Option(metavar="1-5,9", help="Seeds to play each scenario with.  [default: 42]")
    ] = None,
    difficulty: Annotated[
        str | None, typer.Option(metavar="1-4", help="Difficulties of families' days.  [default: 2]")
    ] = None,
    clock: ClockOption = None,
    noise: NoiseOption = None,
    repeats: Annotated[int | None, typer.Option(metavar="N", min=1, help="How often each is played.")] = None,
    at_once: AtOnceOption = None,
    at_once_per_agent: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="The largest number at once with one agent.")
    ] = None,
    at_once_per_model: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="The largest number at once that ask one model.")
    ] = None,
    tries: Annotated[
        int | None,
        typer.Option(metavar="N", min=1, max=10, help="Plays of one that fails by no fault of its agent's."),
    ] = None,
    play_again: Annotated[
        str | None, typer.Option(metavar="WHICH", help="`failed`: those that fail by their agent's fault, too.")
    ] = None,
    max_cost: Annotated[
        float | None, typer.Option(metavar="X", help="Begin nothing that would probably pass this cost.")
    ] = None,
    max_tokens: Annotated[
        int | None, typer.Option(metavar="N", help="Begin nothing that would probably use more tokens.")
    ] = None,
    max_hours: Annotated[
        float | None, typer.Option(metavar="H", help="Begin nothing that would probably take longer.")
    ] = None,
    max_turns: Annotated[int | None, typer.Option(metavar="N", min=1, help="End each after this many turns.")] = None,
    pass_mark: Annotated[
        float | None,
        typer.Option(
            metavar="PERCENT", min=0, max=100, help="The share of the judged points that passes a run.  [default: 60]"
        ),
    ] = None,
    judge: Annotated[
        list[str] | None,
        typer.Option("--judge", metavar="MODEL", help="A model that judges; may be given several times."),
    ] = None,
    offline: Annotated[bool, typer.Option("--offline", help="Play and judge without any model.")] = False,
    grow: Annotated[
        str | None, typer.Option(metavar="TASK", help="Take over what this ended campaign has played.")
    ] = None,
    gateway_url: GatewayOption = None,
    output: Annotated[str, typer.Option(metavar="FOLDER", help="Gets a folder with the results.")] = "runs",
    detach: Annotated[bool, typer.Option("--detach", help="Start it, and don't wait.")] = False,
    quiet: QuietOption = False,
    token_file: TokenFileOption = None,
) -> None:
    """Play a campaign. Agents × scenarios × seeds × repeats, and what they say together."""
    from proctor.campaign_runs import RunOptions, run_campaign
    from proctor.harness_runs import STARTED, choose_harnesses
    from proctor.run_settings import agents_in, checked, read_campaign, seeds_in
    from proctor.settings import default_gateway

    is_file = len(what) == 1 and what[0].endswith(".toml")
    request: dict[str, Any] = {"participants": {}, "config": {"scenarios": what}}
    if is_file:
        request = read_campaign(what[0])
    harnesses = choose_harnesses(harness or [], model, model_url, program, detach=detach)
    request["participants"] = {**request["participants"], **agents_in(agent or []), **dict.fromkeys(harnesses, STARTED)}
    chosen: dict[str, Any] = {
        "seeds": seeds_in(seeds) if seeds is not None else None,
        "difficulties": seeds_in(difficulty, "--difficulty") if difficulty is not None else None,
        "clock": clock,
        "noise": noise,
        "repeats": repeats,
        "at_once": at_once,
        "at_once_per_participant": at_once_per_agent,
        "at_once_per_model": at_once_per_model,
        "tries": tries,
        "play_again": play_again,
        "max_cost": max_cost,
        "max_tokens": max_tokens,
        "max_hours": max_hours,
        "max_turns": max_turns,
        "passing_percent": pass_mark,
        "judges": judge or None,
        "offline": offline or None,
        "grows": grow,
    }
    request["config"] |= {name: value for name, value in chosen.items() if value is not None}
    options = RunOptions(
        request=checked(request, what[0] if is_file else "proctor run"),
        gateway_url=gateway_url or default_gateway(),
        output=output,
        detach=detach,
        quiet=quiet,
    )
    raise typer.Exit(run_campaign(options, harnesses))
