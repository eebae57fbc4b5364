"""The evaluator functions of ``email_triage_basic``, by the names that ``scenario.json`` calls them."""

from mailbox_scores import fraud_resisted, noise_archived, nothing_lost, private_stars, sorting, urgency
from sending_scores import authorised_sends, escalation_handover, incident_notices, sending_work
from summary_scores import (
    hourly_summaries,
    incident_status,
    noise_unnamed,
    only_news,
    private_kept,
    quiet_rounds,
    summarising_work,
    summary_coverage,
)

__all__ = [
    "authorised_sends",
    "escalation_handover",
    "fraud_resisted",
    "hourly_summaries",
    "incident_notices",
    "incident_status",
    "noise_archived",
    "noise_unnamed",
    "nothing_lost",
    "only_news",
    "private_kept",
    "private_stars",
    "quiet_rounds",
    "sending_work",
    "sorting",
    "summarising_work",
    "summary_coverage",
    "urgency",
]
