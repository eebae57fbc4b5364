"""What a test says is under way: an assessment in its second turn, and a campaign that has begun."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from proctor.protocol.archive import CommandRecord
from proctor.protocol.callers import ANYBODY, Caller
from proctor.protocol.campaigns import Tally
from proctor.protocol.updates import (
    ActionObservedUpdate,
    AssessmentStartedUpdate,
    ErrorOccurredUpdate,
    ResponsesGeneratedUpdate,
    ScenarioLoadedUpdate,
    TurnCompletedUpdate,
    TurnStartedUpdate,
)
from proctor.viewer.live import Live, LiveTerminal, Running, RunningCell, RunningDetails
from tests.viewer.entries import MORNING


def updates_of(turns: int, text: str | None = None) -> list[Any]:
    """The updates of an assessment that is in a turn."""
    published: list[Any] = [
        AssessmentStartedUpdate(
            assessment_id="live-1", scenario_id="lunch", participant_url="http://agent.example:8001", start_time=MORNING
        ),
        ScenarioLoadedUpdate(
            scenario_id="lunch",
            scenario_name=text or "A lunch is arranged",
            start_time=MORNING,
            end_time=MORNING + timedelta(hours=8),
            character_count=3,
            criteria_count=12,
            expected_turns=8,
        ),
    ]
    for turn in range(1, turns + 1):
        now = MORNING + timedelta(hours=turn)
        published.append(TurnStartedUpdate(turn_number=turn, current_time=now, events_processed=2))
        published.append(
            ActionObservedUpdate(
                turn_number=turn,
                timestamp=now,
                action=text or "email.send",
                parameters={
                    "to_addresses": [text or "anna@work.example"],
                    "subject": text or f"Lunch on Thursday? ({turn})",
                    "body_text": text or "Would one o'clock suit you?",
                },
                success=True,
            )
        )
        if turn < turns:
            published.append(TurnCompletedUpdate(turn_number=turn, actions_taken=1, time_advanced="PT1H"))
            published.append(
                ResponsesGeneratedUpdate(turn_number=turn, responses_count=1, characters_involved=["anna"])
            )
    if text:
        published.append(ErrorOccurredUpdate(error_type=text, error_message=text, turn_number=turns, recoverable=True))
    return published


@dataclass
class ScriptedLive(Live):
    """``stories`` are what is under way; a test changes them."""

    stories: dict[str, RunningDetails] = field(default_factory=dict)
    known: set[str] = field(default_factory=lambda: {"day-one", "hostile"})

    def __post_init__(self) -> None:
        self.stories = self.stories or {"live-1": story("live-1", updates_of(2)), "live-2": campaign("live-2")}

    async def running(self, caller: Caller = ANYBODY) -> Sequence[Running]:
        return [each.running for each in self.stories.values()]

    async def details(self, name: str) -> RunningDetails | None:
        return self.stories.get(name)

    async def may_continue(self, name: str) -> bool:
        return name in self.known


def story(name: str, updates: Sequence[Any], text: str | None = None) -> RunningDetails:
    running = Running(name, text or "lunch", text or "http://agent.example:8001", "working", MORNING)
    published = [update.model_dump(mode="json") for update in updates]
    return RunningDetails(running, published, text)


def campaign(name: str, text: str | None = None) -> RunningDetails:
    tally = Tally(total=40, done=1, running=4, waiting=35, succeeded=1, score=0.5)
    about = text or "lunch, move_house"
    cells = (RunningCell("live-3", text or "mine · lunch · attempt 1 of 2", MORNING, text or "the tests run"),)
    return RunningDetails(
        Running(name, about, text or "", "working", MORNING, kind="campaign", tally=tally), cells=cells
    )


def trial(name: str, text: str | None = None) -> RunningDetails:
    entered = text or "ls /app"
    records = [CommandRecord(at=MORNING, kind="command", command=entered, output=entered, exit_code=1)]
    running = Running(
        name, text or "mine · lunch · attempt 1 of 2", "", "working", MORNING, kind="trial", campaign="live-2"
    )
    return RunningDetails(running, step=text or "the tests run", terminal=LiveTerminal(records, entered))
