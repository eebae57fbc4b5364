"""Find a running assessment or campaign by its id, and show it to its end."""

import asyncio
import json
from datetime import datetime
from typing import Self

from rich.console import Console

from proctor.cli.assessments import AssessOptions, conclude_results
from proctor.cli.campaign_display import CampaignDisplay, print_table
from proctor.cli.campaign_runs import conclude_run
from proctor.cli.display import AssessmentDisplay
from proctor.client.caller import Accepted, AssessmentCall, CallEvent, Ended, Progress
from proctor.client.following import followed, read_results, require_completed
from proctor.protocol.campaigns import CampaignUpdateType
from proctor.protocol.updates import ErrorOccurredUpdate
from purple_sdk.protocol.terminal import TerminalResults


async def show_task(gateway_url: str, task_id: str, console: Console, output: str | None) -> None:
    async with AssessmentCall.of_task(gateway_url, task_id) as call:
        with UnderWayDisplay(console) as display:
            accepted, ended = await followed(call, display, asyncio.Event())
    what = "assessment"
    if ended.results is not None:
        what = _conclude(console, ended, gateway_url, accepted.workflow_url if accepted else None, output)
    require_completed(ended, what)


def _conclude(console: Console, ended: Ended, gateway_url: str, workflow_url: str | None, output: str | None) -> str:
    assert ended.results is not None
    match _read_kind(ended.results):
        case "run_results":
            conclude_run(console, ended.results, output, datetime.now(), gateway_url)
            return "campaign"
        case "terminal_bench_results":
            print_table(console, read_results(TerminalResults, ended.results, "one of Terminal-Bench"))
            return "run"
        case _:
            conclude_results(AssessOptions(gateway_url), console, ended.results, workflow_url)
            return "assessment"


def _read_kind(exact: bytes) -> str:
    try:
        return str(json.loads(exact).get("message_type", ""))
    except (ValueError, AttributeError):
        return ""


async def find_task(gateway_url: str, name: str) -> str:
    async with AssessmentCall.of_task(gateway_url, name) as call:
        return await call.find(name)


class UnderWayDisplay:
    """Show the events of a call that follows an assessment or a campaign; a context manager.

    At first, events are shown by a campaign's display, which can show the problems of both kinds. The first update of
    an assessment replaces that display with an assessment's.
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
