"""Commands on assessments and campaigns that exist already."""

from typing import Annotated, Any

import typer
from typer import Argument, Option

from proctor.cli import options
from proctor.cli.options import option

app = typer.Typer()


@app.command("follow")
def follow(
    name: options.TaskId,
    gateway_url: options.Gateway = None,
    output: str | None = option(None, "FOLDER", "Gets a folder with a campaign's results."),
    token_file: options.TokenFile = None,
) -> None:
    """Follow an assessment or a campaign, from its beginning. Ctrl-C leaves it alone."""
    import asyncio
    import sys

    from proctor.cli.under_way import find_task, show_task
    from proctor.common.console import make_console
    from proctor.common.interrupts import done_before, interruption
    from proctor.common.settings import default_gateway

    url = gateway_url or default_gateway()

    async def run() -> None:
        interrupted = interruption()
        task_id = await find_task(url, name)
        following = asyncio.create_task(show_task(url, task_id, make_console(sys.stdout), output))
        if await done_before(following, interrupted):
            following.result()
        else:
            following.cancel()
            await asyncio.gather(following, return_exceptions=True)
            print(f"{task_id} continues: `proctor follow {task_id}` joins it again")

    asyncio.run(run())


@app.command("cancel")
def cancel(
    name: options.TaskId,
    gateway_url: options.Gateway = None,
    token_file: options.TokenFile = None,
) -> None:
    """Cancel an assessment, or a campaign as a whole. Results so far are kept."""
    import asyncio

    from proctor.cli.under_way import find_task
    from proctor.client.caller import AssessmentCall
    from proctor.common.settings import default_gateway

    url = gateway_url or default_gateway()

    async def run() -> None:
        task_id = await find_task(url, name)
        async with AssessmentCall.of_task(url, task_id) as call:
            await call.require_canceled()
        print(f"{task_id} is cancelled")

    asyncio.run(run())


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
    import asyncio
    import sys

    from temporalio.client import WorkflowExecutionStatus

    from proctor.cli.assessments import AssessOptions
    from proctor.cli.assessments import follow as follow_call
    from proctor.cli.replay import connect_to_engine, require_agreement
    from proctor.client.caller import AssessmentCall
    from proctor.client.replay import ResetPoint, choose, reset, reset_points
    from proctor.common.console import make_console
    from proctor.common.errors import UsageError
    from proctor.common.interrupts import interruption
    from proctor.common.settings import default_gateway

    if from_turn is not None and from_judging:
        raise UsageError("--from-turn and --from-judging exclude each other: choose one")
    if with_current_evaluators and not from_judging:
        raise UsageError("--with-current-evaluators is for judging again: add --from-judging")

    url = gateway_url or default_gateway()

    async def find() -> tuple[ResetPoint, bool]:
        client = await connect_to_engine(url, temporal_address)
        point = choose(await reset_points(client, task_id), from_turn, from_judging)
        described = await client.get_workflow_handle(task_id).describe()
        return point, described.status == WorkflowExecutionStatus.COMPLETED

    async def run() -> None:
        interrupted, client = interruption(), await connect_to_engine(url, temporal_address)
        await reset(client, task_id, point, with_current_evaluators=with_current_evaluators)
        console = make_console(sys.stdout)
        console.print(f"{task_id} continues from {point.name}", highlight=False)
        call = AssessmentCall.of_task(url, task_id)
        await follow_call(AssessOptions(url, quiet=quiet), interrupted, call, console)

    point, is_completed = asyncio.run(find())
    if is_completed and not yes:  # outside of event loops, where a Ctrl-C ends the question at once
        require_agreement(task_id, point)
    asyncio.run(run())


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
    import json

    from proctor.cli.assessments import AssessOptions
    from proctor.cli.assessments import follow as follow_call
    from proctor.cli.campaign_runs import run_campaign
    from proctor.client.caller import AssessmentCall
    from proctor.client.run_settings import checked, parse_agents
    from proctor.common.errors import UsageError
    from proctor.common.interrupts import interruption
    from proctor.common.settings import default_gateway

    if (from_turn is not None) + every_turn + (evening is not None) != 1:
        raise UsageError(
            "say from which turn on: --from-turn N, --evening N, or --every-turn for forks from each of them"
        )
    agents, url = agent or [], gateway_url or default_gateway()
    is_campaign = every_turn or repeats is not None or len(agents) > 1
    if evening is not None and is_campaign:
        raise UsageError("--evening is for a single fork: for several, name the turn with --from-turn")
    if json_file and is_campaign:
        raise UsageError("--json is for a single fork: the results of several are written to a folder of --output")
    config: dict[str, Any] = {"fork_of": task_id, "seed": seed, "max_turns": max_turns}
    if is_campaign:
        config |= {"from_turns": "every" if every_turn else [from_turn], "repeats": repeats or 1, "at_once": at_once}
    else:
        config |= {"from_turn": from_turn, "from_evening": evening}
    request = {
        "participants": parse_agents(agents, unnamed="agent" if is_campaign else "personal_assistant"),
        "config": {name: value for name, value in config.items() if value is not None},
    }

    async def run() -> None:
        if is_campaign:
            await run_campaign(checked(request, "proctor fork"), url, output, quiet=quiet)
        else:
            shown = AssessOptions(url, json_file=json_file, quiet=quiet)
            await follow_call(shown, interruption(), AssessmentCall(url, json.dumps(request)))

    asyncio.run(run())
