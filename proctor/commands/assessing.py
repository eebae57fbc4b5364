"""Commands that have agents assessed."""

from functools import partial
from typing import Annotated, Any

import typer
from typer import Argument, Option

from proctor.commands import options
from proctor.commands.options import valued

app = typer.Typer()


@app.command("demo")
def demo(
    scenario: Annotated[str, valued("ID", "The scenario to play.")] = "email_triage_basic",
    seed: Annotated[int, valued("N", "What every random choice derives from.")] = 42,
    keep: Annotated[bool, Option("--keep", help="Stay up afterwards, until Ctrl-C.")] = False,
) -> None:
    """Play a scenario with the baseline agent. Needs no model; writes assessment_results.json here.

    The assessment is kept in the archive: `proctor list` shows it.
    """
    from proctor.demo import run_demo

    run_demo(scenario, seed, keep)


@app.command("assess")
def assess(
    scenarios: Annotated[
        list[str],
        Argument(metavar="SCENARIO", help="A scenario's id or a family's name; see `proctor scenarios list`."),
    ],
    agent_urls: Annotated[
        list[str] | None,
        valued(
            "[ROLE=]URL",
            "The A2A address of the agent to assess. For a scenario with several roles: once for each of them.",
            "--agent",
        ),
    ] = None,
    harness: options.Harness = None,
    model: options.HarnessModel = None,
    model_url: options.ModelUrl = None,
    program: options.Program = None,
    max_cost: options.HarnessCost = None,
    max_tokens: options.HarnessTokens = None,
    gateway_url: options.Gateway = None,
    seed: options.Seed = None,
    difficulty: options.Difficulty = None,
    clock: options.Clock = None,
    noise: options.Noise = None,
    offline: Annotated[
        bool, Option("--offline", help="Without any model: scripted characters, mechanical judging.")
    ] = False,
    max_turns: options.MaxTurns = None,
    turn_timeout: Annotated[float | None, valued("SECONDS", "What the agent may take for a turn.")] = None,
    json_file: Annotated[
        str | None, valued("FILE", "Write the exact result there; - is standard output.", "--json")
    ] = None,
    quiet: options.Quiet = False,
    is_whole: options.Whole = False,
    token_file: options.TokenFile = None,
) -> None:
    """Assess an agent and show how it does. Ctrl-C cancels the assessment."""
    import asyncio

    from proctor.api import assessment_request
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
    request = partial(
        assessment_request,
        scenario=scenarios[0],
        seed=seed,
        difficulty=difficulty,
        clock=clock,
        noise=noise,
        offline=offline,
        max_turns=max_turns,
        turn_timeout=turn_timeout,
    )
    asked = AssessOptions(
        gateway_url or default_gateway(), json_file=json_file, quiet=quiet, is_whole=is_whole, has_warned=has_warned
    )
    asyncio.run(run_assess(asked, request, participants_in(agent_urls or []), choice))


@app.command("play")
def play(
    scenario: Annotated[str, Argument(metavar="SCENARIO", help="A scenario's id, or its folder.")],
    gateway_url: Annotated[
        str | None,
        valued("URL", "A running evaluator.  [default: one that is started for this]", "--gateway"),
    ] = None,
    seed: options.Seed = None,
    max_turns: options.MaxTurns = None,
    with_models: Annotated[
        bool, Option("--with-models", help="Models play the people and judge; without, scripts and checks do.")
    ] = False,
    json_file: options.JsonFile = None,
    is_whole: options.Whole = False,
    scenarios_dir: options.Scenarios = None,
) -> None:
    """Be the participant yourself, turn by turn, and see the score. Lines may come from a pipe; Ctrl-C cancels."""
    from proctor.play.command import PlayOptions, run_play

    asked = PlayOptions(
        scenario=scenario,
        gateway_url=gateway_url,
        scenarios_dir=scenarios_dir,
        seed=seed,
        max_turns=max_turns,
        with_models=with_models,
        json_file=json_file,
        is_whole=is_whole,
    )
    run_play(asked)


@app.command("run")
def run(
    what: Annotated[list[str], Argument(metavar="SCENARIO…", help="Scenarios to play, or a campaign.toml.")],
    agent: Annotated[list[str] | None, valued("NAME=URL", "An agent; may be given several times.", "--agent")] = None,
    harness: Annotated[
        list[str] | None, valued("NAME", "A CLI agent to start; may be given several times.", "--harness")
    ] = None,
    model: options.HarnessModel = None,
    model_url: options.ModelUrl = None,
    program: options.Program = None,
    seeds: Annotated[str | None, valued("1-5,9", "Seeds to play each scenario with.  [default: 42]")] = None,
    difficulty: Annotated[str | None, valued("1-4", "Difficulties of families' days.  [default: 2]")] = None,
    clock: options.Clock = None,
    noise: options.Noise = None,
    repeats: Annotated[int | None, valued("N", "How often each is played.", min=1)] = None,
    at_once: options.AtOnce = None,
    at_once_per_agent: Annotated[int | None, valued("N", "The largest number at once with one agent.", min=1)] = None,
    at_once_per_model: Annotated[
        int | None, valued("N", "The largest number at once that ask one model.", min=1)
    ] = None,
    tries: Annotated[
        int | None, valued("N", "Plays of one that fails by no fault of its agent's.", min=1, max=10)
    ] = None,
    play_again: Annotated[str | None, valued("WHICH", "`failed`: those that fail by their agent's fault, too.")] = None,
    max_cost: Annotated[float | None, valued("X", "Begin nothing that would probably pass this cost.")] = None,
    max_tokens: Annotated[int | None, valued("N", "Begin nothing that would probably use more tokens.")] = None,
    max_hours: Annotated[float | None, valued("H", "Begin nothing that would probably take longer.")] = None,
    max_turns: Annotated[int | None, valued("N", "End each after this many turns.", min=1)] = None,
    pass_mark: Annotated[
        float | None,
        valued("PERCENT", "The share of the judged points that passes a run.  [default: 60]", min=0, max=100),
    ] = None,
    judge: Annotated[
        list[str] | None, valued("MODEL", "A model that judges; may be given several times.", "--judge")
    ] = None,
    offline: Annotated[bool, Option("--offline", help="Play and judge without any model.")] = False,
    grow: Annotated[str | None, valued("TASK", "Take over what this ended campaign has played.")] = None,
    gateway_url: options.Gateway = None,
    output: Annotated[str, valued("FOLDER", "Gets a folder with the results.")] = "runs",
    detach: Annotated[bool, Option("--detach", help="Start it, and don't wait.")] = False,
    quiet: options.Quiet = False,
    token_file: options.TokenFile = None,
) -> None:
    """Play a campaign. Agents × scenarios × seeds × repeats, and what they say together."""
    import asyncio

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
    asked = RunOptions(
        request=checked(request, what[0] if is_file else "proctor run"),
        gateway_url=gateway_url or default_gateway(),
        output=output,
        detach=detach,
        quiet=quiet,
    )
    asyncio.run(run_campaign(asked, harnesses))


@app.command("follow")
def follow(
    name: options.TaskId,
    gateway_url: options.Gateway = None,
    output: Annotated[str | None, valued("FOLDER", "Gets a folder with a campaign's results.")] = None,
    token_file: options.TokenFile = None,
) -> None:
    """Follow an assessment or a campaign, from its beginning. Ctrl-C leaves it alone."""
    import asyncio

    from proctor.settings import default_gateway
    from proctor.under_way_commands import run_follow

    asyncio.run(run_follow(gateway_url or default_gateway(), name, output))


@app.command("cancel")
def cancel(
    name: options.TaskId,
    gateway_url: options.Gateway = None,
    token_file: options.TokenFile = None,
) -> None:
    """Cancel an assessment, or a campaign as a whole. Results so far are kept."""
    import asyncio

    from proctor.settings import default_gateway
    from proctor.under_way_commands import run_cancel

    asyncio.run(run_cancel(gateway_url or default_gateway(), name))


@app.command("replay")
def replay(
    task_id: Annotated[str, Argument(metavar="TASK", help="The assessment's task id, which is its workflow id.")],
    from_turn: Annotated[int | None, valued("N", "Play again from this turn on.", min=1)] = None,
    from_judging: Annotated[bool, Option("--from-judging", help="Keep all turns, and judge again.")] = False,
    with_current_evaluators: Annotated[
        bool,
        Option(
            "--with-current-evaluators",
            help="Judge again by the scenario's evaluators as they are now, not as they were at admission.",
        ),
    ] = False,
    gateway_url: options.Gateway = None,
    temporal_address: Annotated[
        str | None, Option(help="Temporal's front end, host:port (default: the gateway's).")
    ] = None,
    yes: Annotated[bool, Option("--yes", "-y", help="Reset a completed assessment without asking.")] = False,
    quiet: Annotated[bool, Option("--quiet", help="Show nothing but errors.")] = False,
    token_file: options.TokenFile = None,
) -> None:
    """Reset an assessment to a turn and follow it. By default it continues from what failed."""
    from proctor.replay import ReplayOptions, run_replay
    from proctor.settings import default_gateway

    asked = ReplayOptions(
        task_id=task_id,
        gateway_url=gateway_url or default_gateway(),
        temporal_address=temporal_address,
        from_turn=from_turn,
        from_judging=from_judging,
        with_current_evaluators=with_current_evaluators,
        is_agreed=yes,
        quiet=quiet,
    )
    run_replay(asked)


@app.command("fork")
def fork(
    task_id: Annotated[str, Argument(metavar="TASK", help="The assessment's id, or a beginning that only it has.")],
    from_turn: Annotated[
        int | None, valued("N", "The first turn that is played again; those before it stay.", min=1)
    ] = None,
    evening: Annotated[
        int | None,
        valued("N", "Instead: the day after whose evening the fork begins, 1 for the first.", min=1),
    ] = None,
    every_turn: Annotated[bool, Option("--every-turn", help="Forks from each turn that it has played.")] = False,
    agent: Annotated[
        list[str] | None,
        valued(
            "[NAME=]URL",
            "Who plays the rest; of several roles, ROLE=URL plays that one.  [default: the same agent]",
            "--agent",
        ),
    ] = None,
    seed: Annotated[int | None, valued("N", "What characters do from there on.  [default: the same seed]")] = None,
    repeats: Annotated[int | None, valued("K", "How often each is played.", min=1)] = None,
    at_once: options.AtOnce = None,
    max_turns: Annotated[int | None, valued("N", "The largest number of turns, inherited ones counted.", min=1)] = None,
    gateway_url: options.Gateway = None,
    output: Annotated[str, valued("FOLDER", "Gets a folder with the results of several.")] = "runs",
    json_file: Annotated[
        str | None, valued("FILE", "Write the exact result of one; - is standard output.", "--json")
    ] = None,
    quiet: options.Quiet = False,
) -> None:
    """Begin with another assessment's turns, and play the rest. The other one stays as it is."""
    import asyncio

    from proctor.fork import ForkOptions, run_fork
    from proctor.settings import default_gateway

    asked = ForkOptions(
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
    asyncio.run(run_fork(asked))
