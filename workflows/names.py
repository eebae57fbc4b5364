"""The names by which workflows are started, found and read."""

from temporalio.common import SearchAttributeKey

ASSESSMENT_WORKFLOW = "Assessment"
CONTEXT_QUEUE_WORKFLOW = "ContextQueue"

UPDATES_TOPIC = "updates"
"""The workflow stream's topic; an item is the JSON of a task update, its offset the update's sequence number."""

PROCTOR_CONTEXT = SearchAttributeKey.for_keyword("ProctorContext")
PROCTOR_SCENARIO = SearchAttributeKey.for_keyword("ProctorScenario")
PROCTOR_PARTICIPANT = SearchAttributeKey.for_keyword("ProctorParticipant")
PROCTOR_STATUS = SearchAttributeKey.for_keyword("ProctorStatus")
PROCTOR_SCORE = SearchAttributeKey.for_float("ProctorScore")
SEARCH_ATTRIBUTES = (PROCTOR_CONTEXT, PROCTOR_SCENARIO, PROCTOR_PARTICIPANT, PROCTOR_STATUS, PROCTOR_SCORE)

SUBMITTED = "submitted"
WORKING = "working"
COMPLETED = "completed"
FAILED_STATUS = "failed"
CANCELED = "canceled"
REJECTED_STATUS = "rejected"

REJECTED = "Rejected"
"""Failure type of a request that can't be carried out; the message is a sentence for its sender."""

FAILED = "AssessmentFailed"
"""Failure type of an assessment that failed; the message is a sentence, the first detail the results as JSON data."""
