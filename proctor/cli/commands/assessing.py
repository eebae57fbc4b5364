"""Commands that have agents assessed."""

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
    import asyncio
    from pathlib import Path

    from proctor.activities.scenario_code.manager import ScenarioManager
    from proctor.cli.demo import RESULT_FILE, play_demo
    from proctor.cli.scenario_packages import load_scenario
    from proctor.common.console import command_name, make_console
    from proctor.common.settings import LOOPBACK, read_settings, with_scenarios
    from proctor.settings.config import GreenAgentConfig
    from purple_sdk.protocol.results import AssessmentResults

    config = with_scenarios(read_settings(GreenAgentConfig, host=LOOPBACK))
    load_scenario(ScenarioManager(config.scenarios_dir), scenario)
    is_archived = asyncio.run(play_demo(config, scenario, seed, keep))
    console = make_console()
    console.print(f"All services have ended. `{command_name()} demo --keep` leaves them running.", soft_wrap=True)
    if is_archived:
        results = AssessmentResults.model_validate_json(Path(RESULT_FILE).read_bytes())
        console.print(f"Look at the assessment: {command_name()} view {results.assessment_id[:8]}", soft_wrap=True)


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
    from contextlib import AsyncExitStack
    from functools import partial

    from proctor.cli.assessments import AssessOptions, follow, read_participants, require_one
    from proctor.client.api import assessment_request
    from proctor.client.caller import AssessmentCall
    from proctor.common.interrupts import interruption
    from proctor.common.settings import default_gateway
    from proctor.local.harness_runs import choose_harness, serving_harness

    choice = choose_harness(
        harness, model, model_url, program, turn_timeout, max_cost, max_tokens, has_agent=bool(agent_urls)
    )
    require_one(scenarios, agent_urls or [])
    has_warned = False
    if offline and not quiet:
        from proctor.cli.scenario_checks import warn_of_unscored_points

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
    url = gateway_url or default_gateway()
    shown = AssessOptions(url, json_file=json_file, quiet=quiet, is_whole=is_whole, has_warned=has_warned)

    async def run() -> None:
        interrupted = interruption()
        async with AsyncExitStack() as started:
            agents = read_participants(agent_urls or [])
            if choice is not None:
                agents = await started.enter_async_context(serving_harness(choice, url))
            await follow(shown, interrupted, AssessmentCall(url, request(agents)))

    asyncio.run(run())


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
    import asyncio
    from functools import partial

    from anyio.from_thread import start_blocking_portal

    from proctor.cli.assessments import AssessOptions
    from proctor.cli.play.participant import Over, TurnQueue
    from proctor.cli.play.session import PATIENCE, assess_person, find_scenario, signals_interrupt
    from proctor.cli.play.shell import LeftError, Lines, Shell
    from proctor.client.api import assessment_request
    from proctor.common.console import make_console

    config, scenario_id, turns = find_scenario(scenario, gateway_url, scenarios_dir, max_turns)
    make_request = partial(
        assessment_request,
        scenario=scenario_id,
        seed=seed,
        offline=not with_models,
        max_turns=max_turns,
        turn_timeout=PATIENCE,
    )
    has_pages = gateway_url is not None
    following = AssessOptions(gateway_url or "", json_file, is_whole=is_whole, has_pages=has_pages, has_progress=False)
    console = make_console()
    with signals_interrupt() as as_usual, start_blocking_portal() as portal:
        interrupted, queue = asyncio.Event(), TurnQueue()
        playing = portal.start_task_soon(assess_person, following, make_request, config, queue, console, interrupted)
        playing.add_done_callback(lambda _: queue.put(Over()))
        try:
            shell = Shell(console, Lines(console), portal, turns)
            while not isinstance(came := queue.get(), Over):
                shell.play(came)
        except (KeyboardInterrupt, LeftError) as error:
            as_usual()  # a second signal ends this process at once; the guard ends the evaluator
            if isinstance(error, KeyboardInterrupt):
                console.print()
            portal.call(interrupted.set)
        playing.result()


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
    from proctor.client.run_settings import checked, parse_agents, parse_seeds, read_campaign
    from proctor.common.settings import default_gateway
    from proctor.local.harness_runs import STARTED, choose_harnesses

    is_file = len(what) == 1 and what[0].endswith(".toml")
    request: dict[str, Any] = {"participants": {}, "config": {"scenarios": what}}
    if is_file:
        request = read_campaign(what[0])
    harnesses = choose_harnesses(harness or [], model, model_url, program, detach=detach)
    request["participants"] = {
        **request["participants"],
        **parse_agents(agent or []),
        **dict.fromkeys(harnesses, STARTED),
    }
    chosen: dict[str, Any] = {
        "seeds": parse_seeds(seeds) if seeds is not None else None,
        "difficulties": parse_seeds(difficulty, "--difficulty") if difficulty is not None else None,
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
