"""``proctor assess``: assess an agent and show how it does. Ctrl-C cancels the assessment."""

from typing import Annotated

import typer

from proctor.commands.options import (
    ClockOption,
    DifficultyOption,
    GatewayOption,
    HarnessCostOption,
    HarnessModelOption,
    HarnessOption,
    HarnessTokensOption,
    MaxTurnsOption,
    ModelUrlOption,
    NoiseOption,
    ProgramOption,
    QuietOption,
    SeedOption,
    TokenFileOption,
    WholeOption,
)


def assess(
    scenarios: Annotated[
        list[str],
        typer.Argument(metavar="SCENARIO", help="A scenario's id or a family's name; see `proctor scenarios list`."),
    ],
    agent_urls: Annotated[
        list[str] | None,
        typer.Option(
            "--agent",
            metavar="[ROLE=]URL",
            help="The A2A address of the agent to assess. For a scenario with several roles: once for each of them.",
        ),
    ] = None,
    harness: HarnessOption = None,
    model: HarnessModelOption = None,
    model_url: ModelUrlOption = None,
    program: ProgramOption = None,
    max_cost: HarnessCostOption = None,
    max_tokens: HarnessTokensOption = None,
    gateway_url: GatewayOption = None,
    seed: SeedOption = None,
    difficulty: DifficultyOption = None,
    clock: ClockOption = None,
    noise: NoiseOption = None,
    offline: Annotated[
        bool, typer.Option("--offline", help="Without any model: scripted characters, mechanical judging.")
    ] = False,
    max_turns: MaxTurnsOption = None,
    turn_timeout: Annotated[
        float | None, typer.Option(metavar="SECONDS", help="What the agent may take for a turn.")
    ] = None,
    json_file: Annotated[
        str | None, typer.Option("--json", metavar="FILE", help="Write the exact result there; - is standard output.")
    ] = None,
    quiet: QuietOption = False,
    is_whole: WholeOption = False,
    token_file: TokenFileOption = None,
) -> None:
    """Assess an agent and show how it does. Ctrl-C cancels the assessment."""
    from proctor.assessing import AssessOptions, participants_in, require_one, run_assess
    from proctor.harness_runs import choose_harness
    from proctor.settings import default_gateway

    choice = choose_harness(
        harness, model, model_url, program, turn_timeout, max_cost, max_tokens, has_agent=bool(agent_urls)
    )
    require_one(scenarios, agent_urls or [])
    has_warned = False
    if offline and not quiet:
        from proctor.scenario_commands import warn_of_unscored_points

        has_warned = warn_of_unscored_points(scenarios[0])
    options = AssessOptions(
        scenario_id=scenarios[0],
        agent_url=participants_in(agent_urls or []),
        gateway_url=gateway_url or default_gateway(),
        seed=seed,
        difficulty=difficulty,
        clock=clock,
        noise=noise,
        offline=offline,
        max_turns=max_turns,
        turn_timeout=turn_timeout,
        json_file=json_file,
        quiet=quiet,
        is_whole=is_whole,
        has_warned=has_warned,
    )
    raise typer.Exit(run_assess(options, choice))
