"""A whole assessment as one subscriber sees it, and how large it has become in Temporal."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from a2a.types import Part, StreamResponse
from google.protobuf.json_format import MessageToDict
from temporalio.client import WorkflowHistory

from proctor.activities.participant.activities import ParticipantActivities
from purple_sdk.protocol.results import AssessmentResults
from tests.a2a_gateway.callers import TERMINAL, message, sdk_client, state_name
from tests.histories.reading import payloads_in, reference
from tests.stack import Stack, request_json


@dataclass
class Followed:
    """What a subscriber was told: the sequence numbers of the updates in their order, and the end."""

    task_id: str = ""
    sequences: list[int] = field(default_factory=list)
    kinds: list[str] = field(default_factory=list)
    state: str = ""
    sentence: str = ""
    results: AssessmentResults | None = None

    def take(self, event: StreamResponse) -> None:
        if event.HasField("task"):
            self.task_id = event.task.id
        elif event.HasField("artifact_update"):
            for part in event.artifact_update.artifact.parts:
                if part.HasField("raw"):
                    self.results = AssessmentResults.model_validate_json(part.raw)
        elif event.HasField("status_update"):
            told = event.status_update
            number = MessageToDict(told.metadata).get("sequence")
            if number is not None:
                self.sequences.append(int(number))
                self.kinds += [
                    MessageToDict(part.data)["message_type"]
                    for part in told.status.message.parts
                    if part.HasField("data")
                ]
            if told.status.state in TERMINAL:
                self.state = state_name(told.status.state)
                self.sentence = " ".join(part.text for part in told.status.message.parts)


async def follow(stack: Stack, agent_url: str, scenario_id: str, **config: object) -> Followed:
    """Ask for an assessment and read its one stream to the end."""
    followed = Followed()
    async with sdk_client(stack.gateway_url) as caller:
        request = message(Part(text=request_json(agent_url, scenario_id, **config)))
        async for event in caller.send_message(request):
            followed.take(event)
    return followed


@dataclass(frozen=True)
class Size:
    """How large a run's history is: its events, its bytes, its largest payload, and the largest it only refers to."""

    events: int
    size: int
    largest_payload: int
    largest_reference: int


def size_of(run: WorkflowHistory) -> Size:
    payloads = [payload for event in run.events for payload in payloads_in(event)]
    references = [found.size for found in map(reference, payloads) if found is not None]
    return Size(
        events=len(run.events),
        size=sum(event.ByteSize() for event in run.events),
        largest_payload=max(payload.ByteSize() for payload in payloads),
        largest_reference=max(references, default=0),
    )


def turns_in(runs: Iterable[WorkflowHistory]) -> int:
    """How many turns of the participant were scheduled."""
    turn = ParticipantActivities.purple_turn.__name__
    return sum(
        event.activity_task_scheduled_event_attributes.activity_type.name == turn
        for run in runs
        for event in run.events
    )
