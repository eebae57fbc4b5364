"""A task that somebody else asked for, shown as what it turns out to be: an assessment, or a campaign."""

from types import TracebackType
from typing import Self

from rich.console import Console

from proctor.caller import Accepted, CallEvent, Progress
from proctor.campaign_display import CampaignDisplay
from proctor.display import AssessmentDisplay
from proctor_protocol.campaigns import CampaignUpdateType
from proctor_protocol.updates import ErrorOccurredUpdate


class UnderWayDisplay:
    """Shows the events of one call; a context manager as the displays of the two kinds are.

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

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._display.__exit__(kind, problem, trace)

    def show(self, event: CallEvent) -> None:
        """Show one event."""
        if isinstance(event, Accepted) and not self._is_known:
            self._accepted = event
            return
        if isinstance(event, Progress) and not isinstance(event.update, ErrorOccurredUpdate) and not self._is_known:
            self._become(is_campaign=event.update.message_type in set(CampaignUpdateType))
        self._display.show(event)

    def say(self, sentence: str) -> None:
        """Show a sentence about the call itself."""
        self._display.say(sentence)

    def _become(self, *, is_campaign: bool) -> None:
        self._is_known = True
        if not is_campaign:
            self._display.__exit__(None, None, None)
            self._display = AssessmentDisplay(self._console)
            self._display.__enter__()
        if self._accepted:
            self._display.show(self._accepted)
