"""JSON Schemas of all messages between evaluators, participants and callers."""

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
    """Return the JSON Schemas of all messages, requests, updates and results, by ``message_type``.

    Requests have no ``message_type``; their keys are ``assessment_request``, ``run_request`` and ``terminal_request``.
    The order is: messages to the participant, messages from it, requests, updates, results. Writers may leave out
    fields that aren't required. Readers ignore unknown fields.
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
