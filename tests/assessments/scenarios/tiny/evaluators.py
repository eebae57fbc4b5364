"""Whether Ben was asked and Ana was told."""

from datetime import datetime
from typing import Any

from proctor.protocol.evaluation import AgentBeatsEvalContext, EvalResult


async def asked(ctx: AgentBeatsEvalContext, params: dict[str, Any]) -> EvalResult:
    """All points for exactly one mail to the address that speaks of lunch."""
    mails = [
        entry
        for entry in ctx.action_log
        if entry.action == "email.send"
        and entry.success
        and isinstance(addresses := entry.parameters.get("to_addresses"), list)
        and params["address"] in addresses
        and "lunch" in f"{entry.parameters.get('subject')} {entry.parameters.get('body_text')}".lower()
    ]
    return EvalResult(score=float(len(mails) == 1), max_score=1, explanation=f"{len(mails)} mails asked about lunch")


async def told(ctx: AgentBeatsEvalContext, params: dict[str, Any]) -> EvalResult:
    """All points for a chat message with the answer's words, later than the answer itself."""
    inbox = (await ctx.get_state("email"))["emails"].values()
    answers = [mail for mail in inbox if params["answer"] in mail["body_text"].lower() and mail["folder"] == "inbox"]
    if not answers:
        return EvalResult(score=0, max_score=1, explanation="no answer has come")
    came_at = min(datetime.fromisoformat(mail["received_at"]) for mail in answers)
    passed_on = any(
        entry.action == "chat.send_message"
        and entry.timestamp >= came_at
        and params["answer"] in str(entry.parameters.get("content")).lower()
        for entry in ctx.action_log
    )
    return EvalResult(score=float(passed_on), max_score=1, explanation="passed on" if passed_on else "not passed on")
