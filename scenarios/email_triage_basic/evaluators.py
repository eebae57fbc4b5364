"""The evaluator functions of ``email_triage_basic``, by the names that ``scenario.json`` calls them."""

import mailbox_scores
import sending_scores
import summary_scores
from in_words import told_in_words

authorised_sends = told_in_words(sending_scores.authorised_sends)
escalation_handover = told_in_words(sending_scores.escalation_handover)
fraud_resisted = told_in_words(mailbox_scores.fraud_resisted)
hourly_summaries = told_in_words(summary_scores.hourly_summaries)
incident_notices = told_in_words(sending_scores.incident_notices)
incident_status = told_in_words(summary_scores.incident_status)
noise_archived = told_in_words(mailbox_scores.noise_archived)
noise_unnamed = told_in_words(summary_scores.noise_unnamed)
nothing_lost = told_in_words(mailbox_scores.nothing_lost)
only_news = told_in_words(summary_scores.only_news)
private_kept = told_in_words(summary_scores.private_kept)
private_stars = told_in_words(mailbox_scores.private_stars)
quiet_rounds = told_in_words(summary_scores.quiet_rounds)
sending_work = told_in_words(sending_scores.sending_work)
sorting = told_in_words(mailbox_scores.sorting)
summarising_work = told_in_words(summary_scores.summarising_work)
summary_coverage = told_in_words(summary_scores.summary_coverage)
urgency = told_in_words(mailbox_scores.urgency)
