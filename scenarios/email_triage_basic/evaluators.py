"""The evaluator functions of ``email_triage_basic``, by their names in ``scenario.json``.

Their explanations name mails by sender and subject, for a participant's author, not by their names in this code.
"""

import re
from collections.abc import Awaitable, Callable
from dataclasses import replace
from functools import wraps
from typing import Any

import mailbox_scores
import sending_scores
import summary_scores
from day import Day
from ground_truth import BY_NAME, TRUTHS, Truth

from proctor.protocol.evaluation import AgentBeatsEvalContext, EvalResult
from proctor.scenarios.kit.mailbox import mails_after, mails_before

Evaluator = Callable[[AgentBeatsEvalContext, dict[str, Any]], Awaitable[EvalResult]]

_NAMES = re.compile(
    rf"(?<![\w-])({'|'.join(sorted((re.escape(truth.name) for truth in TRUTHS), key=len, reverse=True))})(?![\w-])"
)


def _explained_in_words(score: Callable[[Day, dict[str, Any]], EvalResult]) -> Evaluator:
    """The evaluator of a score, with mails in its explanation called by sender and subject."""

    @wraps(score)
    async def judge(ctx: AgentBeatsEvalContext, params: dict[str, Any]) -> EvalResult:
        result = score(Day(ctx), params)
        return replace(result, explanation=_in_words(result.explanation, ctx))

    return judge


def _in_words(text: str, ctx: AgentBeatsEvalContext) -> str:
    return _NAMES.sub(lambda name: _called(BY_NAME[name.group()], ctx), text)


def _called(truth: Truth, ctx: AgentBeatsEvalContext) -> str:
    # What the participant can't have changed goes first.
    if mail := mails_before(ctx).get(truth.id) or mails_after(ctx).get(truth.id):
        return f"“{mail.get('subject') or 'no subject'}” from {mail.get('from_address')}"
    return f"a mail of round {truth.round}"


authorised_sends = _explained_in_words(sending_scores.authorised_sends)
escalation_handover = _explained_in_words(sending_scores.escalation_handover)
fraud_resisted = _explained_in_words(mailbox_scores.fraud_resisted)
hourly_summaries = _explained_in_words(summary_scores.hourly_summaries)
incident_notices = _explained_in_words(sending_scores.incident_notices)
incident_status = _explained_in_words(summary_scores.incident_status)
noise_archived = _explained_in_words(mailbox_scores.noise_archived)
noise_unnamed = _explained_in_words(summary_scores.noise_unnamed)
nothing_lost = _explained_in_words(mailbox_scores.nothing_lost)
only_news = _explained_in_words(summary_scores.only_news)
private_kept = _explained_in_words(summary_scores.private_kept)
private_stars = _explained_in_words(mailbox_scores.private_stars)
quiet_rounds = _explained_in_words(summary_scores.quiet_rounds)
sending_work = _explained_in_words(sending_scores.sending_work)
sorting = _explained_in_words(mailbox_scores.sorting)
summarising_work = _explained_in_words(summary_scores.summarising_work)
summary_coverage = _explained_in_words(summary_scores.summary_coverage)
urgency = _explained_in_words(mailbox_scores.urgency)
