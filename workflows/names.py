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
"""The suffix of the task queue for deliveries to webhooks; it follows the name of the assessments' queue. With a
separate queue, slow webhooks delay nothing else.
"""

WAITING_QUEUE = "-waiting"
"""The suffix of the task queue for steps that mostly wait, for a participant or another workflow. A worker runs
hundreds of such steps at once, and few other steps.
"""

JUDGING_QUEUE = "-judging"
"""The suffix of the task queue for judgements by scenarios' own code, which may be slow."""

UPDATES_TOPIC = "updates"
"""The topic of the workflow's stream. Each item is the JSON of a task update; the offset is the update's sequence
number.
"""

ONE_WAIT_FOR_A_MODEL = "one wait for a model"
"""The name of a patch: if a model can't be called for the first criterion, it isn't called for the others."""

READABLE_IDS = "readable ids"
"""The name of a patch: the id of a cell's assessment contains scenario and participant."""

MEMO_RESULTS = "results"
"""The memo's key for a canceled assessment's results so far. The value names the blob with their JSON."""

MEMO_SUMMARY = "summary"
"""The memo's key for a sentence on a campaign's outcome."""

MEMO_CAMPAIGN = "campaign"
"""The memo's key for the campaign of an assessment."""

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
    """Return search attributes: a workflow's owner, and ``others``. An empty owner means that callers are anonymous."""
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
"""The most characters of a search attribute: usually, and if JSON escapes many of them. Temporal refuses a step with an
attribute of over 2 kB.
"""
_MOST_BYTES = 2_000


def make_search_attributes(scenario: str, participant: str) -> list[SearchAttributeUpdate[Any]]:
    """Return the search attributes at the beginning of play. Long values are cut, so people find them by their
    beginnings.
    """
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
"""Failure type of an assessment that failed. The message is a sentence; the first detail is the results as JSON."""
