"""Verdicts in words that a participant's author understands: mails by sender and subject, not by their names here."""

import re
from collections.abc import Awaitable, Callable
from dataclasses import replace
from functools import wraps
from typing import Any

from ground_truth import BY_NAME, TRUTHS, Truth

from proctor_protocol.evaluation import AgentBeatsEvalContext, EvalResult

Evaluator = Callable[[AgentBeatsEvalContext, dict[str, Any]], Awaitable[EvalResult]]

_NAMES = re.compile(
    rf"(?<![\w-])({'|'.join(sorted((re.escape(truth.name) for truth in TRUTHS), key=len, reverse=True))})(?![\w-])"
)


def told_in_words(evaluator: Evaluator) -> Evaluator:
    """The same evaluator, with mails in its explanation called by sender and subject."""

    @wraps(evaluator)
    async def judge(ctx: AgentBeatsEvalContext, params: dict[str, Any]) -> EvalResult:
        found = await evaluator(ctx, params)
        return replace(found, explanation=in_words(found.explanation, ctx))

    return judge


def in_words(text: str, ctx: AgentBeatsEvalContext) -> str:
    """A text with each name of a mail replaced."""
    return _NAMES.sub(lambda name: _called(BY_NAME[name.group()], ctx), text)


def _called(truth: Truth, ctx: AgentBeatsEvalContext) -> str:
    for state in (ctx.initial_state, ctx.final_state):  # what the participant can't have changed goes first
        mail = ((state.get("email") or {}).get("emails") or {}).get(truth.id)
        if mail:
            return f"“{mail.get('subject') or 'no subject'}” from {mail.get('from_address')}"
    return f"a mail of round {truth.round}"
