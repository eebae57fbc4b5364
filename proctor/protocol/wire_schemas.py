"""JSON Schemas of all that evaluators, participants and callers say to each other."""

from typing import Any, get_args

from proctor.protocol.campaigns import CampaignUpdate
from proctor.protocol.runs import RunRequest, RunResults
from proctor.protocol.updates import TaskUpdate
from purple_sdk.protocol._wire import WireModel
from purple_sdk.protocol.messages import FromParticipant, ToParticipant
from purple_sdk.protocol.request import AssessmentRequest
from purple_sdk.protocol.results import AssessmentResults
from purple_sdk.protocol.terminal import TerminalRequest, TerminalResults, TerminalTaskMessage

_UNTYPED: dict[str, type[WireModel]] = {
    "assessment_request": AssessmentRequest,
    "run_request": RunRequest,
    "terminal_request": TerminalRequest,
}
_RESULTS = (AssessmentResults, RunResults, TerminalResults)


def wire_schemas() -> dict[str, dict[str, Any]]:
    """By ``message_type``, the schema of each message, update and result; requests, which have none, by a name.

    Order: to the participant, from it, requests, updates, results. A writer may leave out a field that isn't
    required; a reader ignores fields that it doesn't know.
    """
    kinds: dict[str, type[WireModel]] = {}
    for kind in (*get_args(ToParticipant), TerminalTaskMessage, *get_args(FromParticipant)):
        kinds[_name(kind)] = kind
    kinds |= _UNTYPED
    for kind in (*get_args(TaskUpdate), *get_args(CampaignUpdate), *_RESULTS):
        kinds[_name(kind)] = kind
    return {name: kind.model_json_schema() for name, kind in kinds.items()}


def _name(kind: type[WireModel]) -> str:
    return str(kind.model_fields["message_type"].default)
