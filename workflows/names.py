"""Names for starting, finding and reading workflows."""

import json
from enum import StrEnum
from typing import Any

from temporalio.common import SearchAttributeKey, SearchAttributePair, SearchAttributeUpdate, TypedSearchAttributes

from proctor.activities.attempts.failures import REJECTED
from proctor.activities.attempts.owners import PROCTOR_CONTEXT as PROCTOR_CONTEXT
from proctor.activities.attempts.owners import PROCTOR_OWNER as PROCTOR_OWNER
from proctor.activities.plan import TRIAL_WORKFLOW as TRIAL_WORKFLOW

ASSESSMENT_WORKFLOW = "Assessment"
CAMPAIGN_WORKFLOW = "Campaign"
NOTIFICATIONS_WORKFLOW = "Notifications"

TASK_WORKFLOWS = (ASSESSMENT_WORKFLOW, CAMPAIGN_WORKFLOW)
"""The workflows that are A2A tasks."""

GROW_SIGNAL = "grow"
"""The signal that adds cells to a campaign."""

CELL_TROUBLE_SIGNAL = "cell-trouble"
"""The signal that reports a failing step of a cell to its campaign."""

NOTIFICATIONS_QUEUE = "-notifications"
"""The suffix of the task queue for deliveries, after the name of the assessments' queue: slow webhooks delay nothing
else.
"""

WAITING_QUEUE = "-waiting"
"""The same for steps that wait nearly all the time, for a participant or another workflow. A worker has hundreds of
them at once, and few others.
"""

JUDGING_QUEUE = "-judging"
"""The same for judgements by scenarios' own code, which may be slow."""

UPDATES_TOPIC = "updates"
"""The workflow stream's topic; an item is the JSON of a task update, its offset the update's sequence number."""

ONE_WAIT_FOR_A_MODEL = "one wait for a model"
"""A patch: if a model could not be called for the first criterion, it doesn't judge the others."""

READABLE_IDS = "readable ids"
"""A patch: the id of a cell's assessment contains scenario and participant."""

MEMO_RESULTS = "results"
"""The memo's key with the blob of the JSON of a canceled assessment's results so far."""

MEMO_SUMMARY = "summary"
"""The memo's key with a sentence on a campaign's outcome."""

MEMO_CAMPAIGN = "campaign"
"""The memo's key with an assessment's campaign."""

PROCTOR_SCENARIO = SearchAttributeKey.for_keyword("ProctorScenario")
PROCTOR_PARTICIPANT = SearchAttributeKey.for_keyword("ProctorParticipant")
PROCTOR_STATUS = SearchAttributeKey.for_keyword("ProctorStatus")
PROCTOR_SCORE = SearchAttributeKey.for_float("ProctorScore")

SEARCH_ATTRIBUTES = (
    PROCTOR_CONTEXT,
    PROCTOR_SCENARIO,
    PROCTOR_PARTICIPANT,
    PROCTOR_STATUS,
    PROCTOR_SCORE,
    PROCTOR_OWNER,
)


def make_owner_attributes(owner: str, *others: SearchAttributePair[Any]) -> TypedSearchAttributes:
    """Return search attributes with a workflow's owner, and others. An empty owner means that callers are anonymous."""
    whose = [SearchAttributePair(PROCTOR_OWNER, owner)] if owner else []
    return TypedSearchAttributes([*others, *whose])


class Status(StrEnum):
    """The stage of an assessment, as in ``ProctorStatus`` and in the memo."""

    SUBMITTED = "submitted"
    WORKING = "working"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELED = "canceled"
    REJECTED = "rejected"


_LONGEST_KEYWORD, _LONGEST_ESCAPED = 500, 150
"""Characters of a search attribute, and of one with longer JSON: Temporal refuses a step with an attribute of over 2
kB.
"""
_MOST_BYTES = 2_000


def make_search_attributes(scenario: str, participant: str) -> list[SearchAttributeUpdate[Any]]:
    """Return the search attributes at the beginning of play; long values are found by their beginnings."""
    return [
        PROCTOR_STATUS.value_set(Status.WORKING),
        PROCTOR_SCENARIO.value_set(_keyword(scenario)),
        PROCTOR_PARTICIPANT.value_set(_keyword(participant)),
    ]


def _keyword(text: str) -> str:
    cut = text[:_LONGEST_KEYWORD]
    return cut if len(json.dumps(cut)) <= _MOST_BYTES else cut[:_LONGEST_ESCAPED]


REJECTED_FAILURE = REJECTED
"""Failure type of a request that can't be carried out; the message is a sentence for its sender."""

ASSESSMENT_FAILURE = "AssessmentFailed"
"""Failure type of an assessment that failed; the message is a sentence, the first detail the results as JSON data."""
