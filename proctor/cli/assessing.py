"""Commands that have agents assessed."""

from functools import partial
from typing import Annotated, Any

import typer
from typer import Argument, Option

from proctor.cli import options
from proctor.cli.options import option

app = typer.Typer()


@app.command("demo")
def demo(
    scenario: str = option("email_triage_basic", "ID", "The scenario to play."),
    seed: int = option(42, "N", "What every random choice derives from."),
    keep: bool = Option(False, "--keep", help="Stay up afterwards, until Ctrl-C."),
) -> None:
    """Play a scenario with the baseline agent. Needs no model; writes assessment_results.json here.

    The assessment is kept in the archive: `proctor list` shows it.
    """
    from proctor.cli.demo import run_demo

    run_demo(scenario, seed, keep)


@app.command("assess")
def assess(
    scenarios: Annotated[
        list[str],
        Argument(metavar="SCENARIO", help="A scenario's id or a family's name; see `proctor scenarios list`."),
    ],
    agent_urls: list[str] | None = option(
        None,
        "[ROLE=]URL",
        "The A2A address of the agent to assess. For a scenario with several roles: once for each of them.",
        "--agent",
    ),
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
    offline: bool = Option(False, "--offline", help="Without any model: scripted characters, mechanical judging."),
    max_turns: options.MaxTurns = None,
    turn_timeout: float | None = option(None, "SECONDS", "What the agent may take for a turn."),
    json_file: str | None = option(None, "FILE", "Write the exact result there; - is standard output.", "--json"),
    quiet: options.Quiet = False,
    is_whole: options.Whole = False,
    token_file: options.TokenFile = None,
) -> None:
    """Assess an agent and show how it does. Ctrl-C cancels the assessment."""
    import asyncio

    from proctor.cli.assess_commands import AssessOptions, participants_in, require_one, run_assess
    from proctor.client.api import assessment_request
    from proctor.common.settings import default_gateway
    from proctor.local.harness_runs import choose_harness

    choice = choose_harness(
        harness, model, model_url, program, turn_timeout, max_cost, max_tokens, has_agent=bool(agent_urls)
    )
    require_one(scenarios, agent_urls or [])
    has_warned = False
    if offline and not quiet:
        from proctor.cli.scenario_commands import warn_of_unscored_points

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
    gateway_url: str | None = option(
        None, "URL", "A running evaluator.  [default: one that is started for this]", "--gateway"
    ),
    seed: options.Seed = None,
    max_turns: options.MaxTurns = None,
    with_models: bool = Option(
        False, "--with-models", help="Models play the people and judge; without, scripts and checks do."
    ),
    json_file: options.JsonFile = None,
    is_whole: options.Whole = False,
    scenarios_dir: options.Scenarios = None,
) -> None:
    """Be the participant yourself, turn by turn, and see the score. Lines may come from a pipe; Ctrl-C cancels."""
    from proctor.cli.play.command import run_play

    run_play(
        scenario,
        gateway_url,
        scenarios_dir,
        seed,
        max_turns,
        with_models=with_models,
        json_file=json_file,
        is_whole=is_whole,
    )


@app.command("run")
def run(
    what: Annotated[list[str], Argument(metavar="SCENARIO…", help="Scenarios to play, or a campaign.toml.")],
    agent: list[str] | None = option(None, "NAME=URL", "An agent; may be given several times.", "--agent"),
    harness: list[str] | None = option(None, "NAME", "A CLI agent to start; may be given several times.", "--harness"),
    model: options.HarnessModel = None,
    model_url: options.ModelUrl = None,
    program: options.Program = None,
    seeds: str | None = option(None, "1-5,9", "Seeds to play each scenario with.  [default: 42]"),
    difficulty: str | None = option(None, "1-4", "Difficulties of families' days.  [default: 2]"),
    clock: options.Clock = None,
    noise: options.Noise = None,
    repeats: int | None = option(None, "N", "How often each is played.", min=1),
    at_once: options.AtOnce = None,
    at_once_per_agent: int | None = option(None, "N", "The largest number at once with one agent.", min=1),
    at_once_per_model: int | None = option(None, "N", "The largest number at once that ask one model.", min=1),
    tries: int | None = option(None, "N", "Plays of one that fails by no fault of its agent's.", min=1, max=10),
    play_again: str | None = option(None, "WHICH", "`failed`: those that fail by their agent's fault, too."),
    max_cost: float | None = option(None, "X", "Begin nothing that would probably pass this cost."),
    max_tokens: int | None = option(None, "N", "Begin nothing that would probably use more tokens."),
    max_hours: float | None = option(None, "H", "Begin nothing that would probably take longer."),
    max_turns: int | None = option(None, "N", "End each after this many turns.", min=1),
    pass_mark: float | None = option(
        None, "PERCENT", "The share of the judged points that passes a run.  [default: 60]", min=0, max=100
    ),
    judge: list[str] | None = option(None, "MODEL", "A model that judges; may be given several times.", "--judge"),
    offline: bool = Option(False, "--offline", help="Play and judge without any model."),
    grow: str | None = option(None, "TASK", "Take over what this ended campaign has played."),
    gateway_url: options.Gateway = None,
    output: str = option("runs", "FOLDER", "Gets a folder with the results."),
    detach: bool = Option(False, "--detach", help="Start it, and don't wait."),
    quiet: options.Quiet = False,
    token_file: options.TokenFile = None,
) -> None:
    """Play a campaign. Agents × scenarios × seeds × repeats, and what they say together."""
    import asyncio

    from proctor.cli.campaign_runs import run_campaign
    from proctor.client.run_settings import agents_in, checked, read_campaign, seeds_in
    from proctor.common.settings import default_gateway
    from proctor.local.harness_runs import STARTED, choose_harnesses

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
    asked = checked(request, what[0] if is_file else "proctor run")
    url = gateway_url or default_gateway()
    asyncio.run(run_campaign(asked, url, output, harnesses, detach=detach, quiet=quiet))


@app.command("follow")
def follow(
    name: options.TaskId,
    gateway_url: options.Gateway = None,
    output: str | None = option(None, "FOLDER", "Gets a folder with a campaign's results."),
    token_file: options.TokenFile = None,
) -> None:
    """Follow an assessment or a campaign, from its beginning. Ctrl-C leaves it alone."""
    import asyncio

    from proctor.cli.under_way_commands import run_follow
    from proctor.common.settings import default_gateway

    asyncio.run(run_follow(gateway_url or default_gateway(), name, output))


@app.command("cancel")
def cancel(
    name: options.TaskId,
    gateway_url: options.Gateway = None,
    token_file: options.TokenFile = None,
) -> None:
    """Cancel an assessment, or a campaign as a whole. Results so far are kept."""
    import asyncio

    from proctor.cli.under_way_commands import run_cancel
    from proctor.common.settings import default_gateway

    asyncio.run(run_cancel(gateway_url or default_gateway(), name))


@app.command("replay")
def replay(
    task_id: Annotated[str, Argument(metavar="TASK", help="The assessment's task id, which is its workflow id.")],
    from_turn: int | None = option(None, "N", "Play again from this turn on.", min=1),
    from_judging: bool = Option(False, "--from-judging", help="Keep all turns, and judge again."),
    with_current_evaluators: bool = Option(
        False,
        "--with-current-evaluators",
        help="Judge again by the scenario's evaluators as they are now, not as they were at admission.",
    ),
    gateway_url: options.Gateway = None,
    temporal_address: str | None = Option(None, help="Temporal's front end, host:port (default: the gateway's)."),
    yes: bool = Option(False, "--yes", "-y", help="Reset a completed assessment without asking."),
    quiet: bool = Option(False, "--quiet", help="Show nothing but errors."),
    token_file: options.TokenFile = None,
) -> None:
    """Reset an assessment to a turn and follow it. By default it continues from what failed."""
    from proctor.cli.replay import run_replay
    from proctor.common.settings import default_gateway

    run_replay(
        task_id,
        gateway_url or default_gateway(),
        temporal_address,
        from_turn,
        from_judging=from_judging,
        with_current_evaluators=with_current_evaluators,
        is_agreed=yes,
        quiet=quiet,
    )


@app.command("fork")
def fork(
    task_id: Annotated[str, Argument(metavar="TASK", help="The assessment's id, or a beginning that only it has.")],
    from_turn: int | None = option(None, "N", "The first turn that is played again; those before it stay.", min=1),
    evening: int | None = option(
        None, "N", "Instead: the day after whose evening the fork begins, 1 for the first.", min=1
    ),
    every_turn: bool = Option(False, "--every-turn", help="Forks from each turn that it has played."),
    agent: list[str] | None = option(
        None,
        "[NAME=]URL",
        "Who plays the rest; of several roles, ROLE=URL plays that one.  [default: the same agent]",
        "--agent",
    ),
    seed: int | None = option(None, "N", "What characters do from there on.  [default: the same seed]"),
    repeats: int | None = option(None, "K", "How often each is played.", min=1),
    at_once: options.AtOnce = None,
    max_turns: int | None = option(None, "N", "The largest number of turns, inherited ones counted.", min=1),
    gateway_url: options.Gateway = None,
    output: str = option("runs", "FOLDER", "Gets a folder with the results of several."),
    json_file: str | None = option(None, "FILE", "Write the exact result of one; - is standard output.", "--json"),
    quiet: options.Quiet = False,
) -> None:
    """Begin with another assessment's turns, and play the rest. The other one stays as it is."""
    import asyncio

    from proctor.cli.fork import ForkOptions, run_fork
    from proctor.common.settings import default_gateway

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
