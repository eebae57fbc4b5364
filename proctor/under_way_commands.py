"""``proctor follow`` and ``proctor cancel``: an assessment or a campaign that is under way, by its id."""

import asyncio
import json
import sys
from datetime import datetime
from typing import Self

from rich.console import Console

from proctor.assessing import AssessOptions, conclude_results
from proctor.caller import Accepted, AssessmentCall, CallEvent, Ended, Progress
from proctor.campaign_display import CampaignDisplay, print_table
from proctor.campaign_runs import conclude_run
from proctor.console import make_console
from proctor.display import AssessmentDisplay
from proctor.errors import ExitCode
from proctor.following import followed, read_results, require_completed
from proctor.interrupts import interruption
from proctor_protocol.campaigns import CampaignUpdateType
from proctor_protocol.terminal import TerminalResults
from proctor_protocol.updates import ErrorOccurredUpdate


def run_follow(gateway_url: str, name: str, output: str | None = None) -> ExitCode:
    """Show an assessment or a campaign from its first update to its end; Ctrl-C leaves it alone.

    Args:
        gateway_url: where the gateway is.
        name: the id, or a beginning that only one under way has.
        output: the folder that gets one with a campaign's results, if wanted.

    Raises:
        CommandError: of the kind that says how it ended, or why it can't be followed.
    """
    return asyncio.run(_follow(gateway_url, name, output))


async def _follow(gateway_url: str, name: str, output: str | None) -> ExitCode:
    interrupted = interruption()
    task_id = await _find(gateway_url, name)
    console = make_console(sys.stdout)
    following = asyncio.create_task(_show(gateway_url, task_id, console, output))
    leaving = asyncio.create_task(interrupted.wait())
    await asyncio.wait({following, leaving}, return_when=asyncio.FIRST_COMPLETED)
    leaving.cancel()
    if following.done():
        return following.result()
    following.cancel()
    await asyncio.gather(following, return_exceptions=True)
    print(f"{task_id} continues: `proctor follow {task_id}` joins it again")
    return ExitCode.DONE


async def _show(gateway_url: str, task_id: str, console: Console, output: str | None) -> ExitCode:
    async with AssessmentCall.of_task(gateway_url, task_id) as call:
        with UnderWayDisplay(console) as display:
            accepted, ended = await followed(call, display, asyncio.Event())
    what = "assessment"
    if ended.results is not None:
        what = _conclude(console, ended, gateway_url, accepted.workflow_url if accepted else None, output)
    require_completed(ended, what)
    return ExitCode.DONE


def _conclude(console: Console, ended: Ended, gateway_url: str, workflow_url: str | None, output: str | None) -> str:
    assert ended.results is not None
    match _kind_of(ended.results):
        case "run_results":
            conclude_run(console, ended.results, output, datetime.now(), gateway_url)
            return "campaign"
        case "terminal_bench_results":
            print_table(console, read_results(TerminalResults, ended.results, "one of Terminal-Bench"))
            return "run"
        case _:
            options = AssessOptions(gateway_url)
            conclude_results(options, console, ended.results, workflow_url)
            return "assessment"


def _kind_of(exact: bytes) -> str:
    try:
        return str(json.loads(exact).get("message_type", ""))
    except (ValueError, AttributeError):
        return ""


def run_cancel(gateway_url: str, name: str) -> None:
    """Cancel an assessment, or a campaign as a whole.

    Raises:
        CommandError: it is not known, has ended, or the gateway doesn't confirm it.
    """
    print(f"{asyncio.run(_cancel(gateway_url, name))} is cancelled")


async def _cancel(gateway_url: str, name: str) -> str:
    task_id = await _find(gateway_url, name)
    async with AssessmentCall.of_task(gateway_url, task_id) as call:
        await call.require_canceled()
    return task_id


async def _find(gateway_url: str, name: str) -> str:
    async with AssessmentCall.of_task(gateway_url, name) as call:
        return await call.find(name)


class UnderWayDisplay:
    """Shows the events of one call, an assessment's or a campaign's; a context manager as the displays of both are.

    It begins as a campaign's, which says what holds up either kind, and continues as an assessment's at the first
    update of one.
    """

    def __init__(self, console: Console) -> None:
        self._console = console
        self._accepted: Accepted | None = None
        self._is_known = False
        self._display: AssessmentDisplay | CampaignDisplay = CampaignDisplay(console)

    def __enter__(self) -> Self:
        self._display.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        self._display.__exit__()

    def show(self, event: CallEvent) -> None:
        if isinstance(event, Accepted) and not self._is_known:
            self._accepted = event
            return
        if isinstance(event, Progress) and not isinstance(event.update, ErrorOccurredUpdate) and not self._is_known:
            self._become(is_campaign=event.update.message_type in set(CampaignUpdateType))
        self._display.show(event)

    def say(self, sentence: str) -> None:
        self._display.say(sentence)

    def _become(self, *, is_campaign: bool) -> None:
        self._is_known = True
        if not is_campaign:
            self._display.__exit__()
            self._display = AssessmentDisplay(self._console)
            self._display.__enter__()
        if self._accepted:
            self._display.show(self._accepted)
