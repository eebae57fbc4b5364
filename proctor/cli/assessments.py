"""Follow an assessment that a command has started or joined, and show and write its result."""

import asyncio
import os
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC
from pathlib import Path

from rich.console import Console
from rich.text import Text

from proctor.cli.display import AssessmentDisplay
from proctor.cli.report import print_report
from proctor.client.caller import AssessmentCall
from proctor.client.following import followed, read_results, require_completed
from proctor.common.console import command_name, make_console
from proctor.common.errors import UsageError
from proctor.protocol.roles import ROLE_NAME
from purple_sdk.protocol.results import AssessmentResults

STANDARD_OUTPUT = "-"

_WITH_ROLE = re.compile(rf"({ROLE_NAME.pattern})=(https?://.*)")


@dataclass(frozen=True)
class AssessOptions:
    """The gateway of an assessment, and the options of its display.

    Attributes:
        is_whole: show the table of all criteria, not only the largest losses.
        has_pages: whether the gateway still runs after the assessment, and has a page of it.
        has_progress: show the turns while they are played.
        has_warned: whether the command has already warned of points that stay unscored without a model.
        json_file: the file for the exact result; ``-`` is standard output.
    """

    gateway_url: str
    json_file: str | None = None
    quiet: bool = False
    is_whole: bool = False
    has_pages: bool = True
    has_progress: bool = True
    has_warned: bool = False


def read_participants(agents: Sequence[str]) -> str | dict[str, str]:
    """Return the agent's address; if all agents are given as ``ROLE=ADDRESS``, return their addresses by role."""
    named = [_WITH_ROLE.fullmatch(agent) for agent in agents]
    if not agents or not all(named):
        return agents[0] if agents else ""
    roles = [match[1] for match in named if match]
    if doubled := [role for role in roles if roles.count(role) > 1]:
        raise UsageError(f"--agent names the role {doubled[0]} twice: give each role one agent")
    return {match[1]: match[3] for match in named if match}


def require_one(scenarios: Sequence[str], agents: Sequence[str]) -> None:
    """Raise an error unless there is one scenario, and one agent or an agent for each role."""
    if all(map(_WITH_ROLE.fullmatch, agents)):
        agents = agents[:1]
    for what, names in (("scenarios", scenarios), ("agents", agents)):
        if len(names) > 1:
            raise UsageError(
                f"assess plays one scenario with one agent, and {len(names)} {what} are given: "
                "`proctor run` plays several"
            )


async def follow(
    options: AssessOptions, interrupted: asyncio.Event, following_call: AssessmentCall, console: Console | None = None
) -> None:
    """Show the progress of an assessment, and write its result.

    Args:
        interrupted: when set, the assessment is cancelled.
        following_call: the call of the assessment, which isn't entered yet.
        console: the console of the display. By default it is standard output, or standard error if the result goes to
            standard output.

    Raises:
        UsageError: the request was rejected, or the result can't be written to its file.
        UnreachableError: the gateway can't be reached.
        CommandError: the assessment failed or was cancelled; its scores so far have been shown.
    """
    require_writable(options.json_file)
    console = console or make_console(sys.stderr if options.json_file == STANDARD_OUTPUT else sys.stdout)
    is_quiet = options.quiet or not options.has_progress
    async with following_call as call:
        with AssessmentDisplay(console, is_quiet, has_warned=options.has_warned) as display:
            accepted, ended = await followed(call, display, interrupted)
    if ended.results is not None:
        workflow_url = accepted.workflow_url if accepted and options.has_progress else None
        conclude_results(options, console, ended.results, workflow_url)
    require_completed(ended, "assessment")


def conclude_results(options: AssessOptions, console: Console, exact: bytes, workflow_url: str | None) -> None:
    """Write an assessment's result to its file, and show it.

    Args:
        workflow_url: the assessment's page in the Temporal UI, if known.

    Raises:
        CommandError: ``exact`` isn't an assessment's result.
    """
    results = read_results(AssessmentResults, exact, "an AssessmentResults")
    if options.json_file == STANDARD_OUTPUT:
        sys.stdout.buffer.write(exact + b"\n")
        sys.stdout.buffer.flush()
    elif options.json_file:
        Path(options.json_file).write_bytes(exact)
    if not options.quiet:
        print_report(
            console,
            results,
            workflow_url,
            with_failure=False,  # the command itself ends with it
            is_whole=options.is_whole,
            page_url=f"{options.gateway_url.rstrip('/')}/view/{results.assessment_id}" if options.has_pages else None,
            details=f"{command_name()} show {results.assessment_id[:8]} --all" if is_archived_here(results) else None,
        )
        if options.json_file and options.json_file != STANDARD_OUTPUT:
            console.print(Text(f"result: {options.json_file}, checked against AssessmentResults"), soft_wrap=True)


def is_archived_here(results: AssessmentResults) -> bool:
    """Whether commands find the assessment in a local archive of this user's deployments."""
    from proctor.client.opened_archive import local_archives

    began_at = results.provenance and results.provenance.started_at
    if not began_at:
        return False
    day = f"{began_at.astimezone(UTC):%Y-%m-%d}"
    return any(any((place / day).glob(f"{results.assessment_id}.*")) for place in local_archives())


def require_writable(json_file: str | None) -> None:
    if json_file is None or json_file == STANDARD_OUTPUT:
        return
    path = Path(json_file)
    if path.is_dir() or not os.access(path if path.exists() else path.parent, os.W_OK):
        raise UsageError(f"--json {json_file}: can't write there; name a file in a folder that exists")
