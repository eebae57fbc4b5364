"""The names by which workflows are started, looked up and read."""

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
"""Those that are an A2A task each."""

GROW_SIGNAL = "grow"
"""By which more cells join a campaign."""

CELL_TROUBLE_SIGNAL = "cell-trouble"
"""By which a campaign hears of a step of one of its cells that does not succeed."""

NOTIFICATIONS_QUEUE = "-notifications"
"""What the name of the task queue for deliveries has after that of the assessments: slow webhooks hold up none."""

WAITING_QUEUE = "-waiting"
"""The same for steps that wait for somebody nearly all the time: a participant, another workflow. A worker has hundreds
of them at once, and few others.
"""

JUDGING_QUEUE = "-judging"
"""The same for judgements by scenarios' own code, which may take its time."""

UPDATES_TOPIC = "updates"
"""The workflow stream's topic; an item is the JSON of a task update, its offset the update's sequence number."""

ONE_WAIT_FOR_A_MODEL = "one wait for a model"
"""A patch: criteria aren't judged by a model that could not be asked for the first one."""

READABLE_IDS = "readable ids"
"""A patch: the id of a cell's assessment says scenario and participant."""

MEMO_RESULTS = "results"
"""Where the memo of a canceled assessment names the blob with the JSON of its results so far."""

MEMO_SUMMARY = "summary"
"""Where a campaign's memo says in a sentence what came of it."""

MEMO_CAMPAIGN = "campaign"
"""Where an assessment's memo names the campaign that it is of."""

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


def owned_by(owner: str, *others: SearchAttributePair[Any]) -> TypedSearchAttributes:
    """Search attributes of a workflow that is somebody's, or everybody's."""
    whose = [SearchAttributePair(PROCTOR_OWNER, owner)] if owner else []
    return TypedSearchAttributes([*others, *whose])


class Status(StrEnum):
    """How far an assessment is, as ``ProctorStatus`` and the memo say it."""

    SUBMITTED = "submitted"
    WORKING = "working"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELED = "canceled"
    REJECTED = "rejected"


_LONGEST_KEYWORD, _LONGEST_ESCAPED = 500, 150
"""Characters of a search attribute, and of one whose JSON is longer: Temporal refuses a step with one of over 2 kB."""
_MOST_BYTES = 2_000


def search_attributes_of(scenario: str, participant: str) -> list[SearchAttributeUpdate[Any]]:
    """The search attributes of what begins to be played; long values are found by their beginnings."""
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
