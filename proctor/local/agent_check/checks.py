"""Checks of an agent: each check is a function of the evidence; ``checks.toml`` has its fix."""

import tomllib
from collections.abc import Callable
from functools import partial
from importlib.resources import files
from typing import Literal

from pydantic import BaseModel, ConfigDict

from proctor.activities.attempts import failures
from proctor.activities.participant.action_report import compare
from proctor.local.agent_check.playing import Evidence, Exchange
from purple_sdk.protocol.messages import EarlyCompletionMessage
from purple_sdk.protocol.results import ActionLogEntryWithTurn, ActionReport, ReportedAction

Judgement = Literal["right", "wrong", "not seen"]
Look = Callable[[Evidence], tuple[Judgement, str]]

_ANSWERS = ("turn_complete", "early_completion")
_LONGEST = 300


class Finding(BaseModel):
    """The result of one check. ``not seen`` means that evidence is missing; this doesn't count against the agent."""

    model_config = ConfigDict(frozen=True)

    check: str
    looked_for: str
    judgement: Judgement
    seen: str
    fix: str | None = None


_CHECKS: dict[str, Look] = {}


def find_all(evidence: Evidence) -> list[Finding]:
    texts = tomllib.loads((files("proctor.local.agent_check") / "checks.toml").read_text(encoding="utf-8"))
    findings = []
    for name, look in _CHECKS.items():
        judgement, seen = look(evidence)
        findings.append(
            Finding(
                check=name,
                looked_for=texts[name]["looked_for"],
                judgement=judgement,
                seen=seen if len(seen) <= _LONGEST else f"{seen[: _LONGEST - 1]}…",
                fix=texts[name]["fix"] if judgement == "wrong" else None,
            )
        )
    return findings


def _check(name: str) -> Callable[[Look], Look]:
    """Register a check, whose texts are in ``checks.toml``. Checks are in the order of an assessment's steps."""

    def enter(look: Look) -> Look:
        _CHECKS[name] = look
        return look

    return enter


@_check("card")
def _card(evidence: Evidence) -> tuple[Judgement, str]:
    if evidence.card_problem is not None:
        return "wrong", evidence.card_problem
    for exchange in evidence.greeted.values():
        if _leads_astray(exchange):
            return "wrong", str(exchange.problem)
    return "right", "the card is there, and leads to the agent"


def _version(evidence: Evidence, version: str) -> tuple[Judgement, str]:
    greeted = evidence.greeted.get(version)
    if version not in evidence.versions:
        return "not seen", f"the card doesn't offer A2A {version}; one of 1.0 and 0.3 is enough"
    if greeted is None or _leads_astray(greeted):
        return "not seen", "the agent wasn't reached"
    if _is_version_to_blame(evidence, version):
        return "wrong", str(greeted.problem)
    return "right", f"it answers in A2A {version}"


_check("protocol-1.0")(partial(_version, version="1.0"))
_check("protocol-0.3")(partial(_version, version="0.3"))


@_check("greeting")
def _greeting(evidence: Evidence) -> tuple[Judgement, str]:
    spoken = [e for version, e in evidence.greeted.items() if not _is_version_to_blame(evidence, version)]
    if not spoken or any(map(_leads_astray, spoken)):
        return "not seen", "the agent wasn't reached"
    problems = [exchange.problem for exchange in spoken if exchange.problem is not None]
    return ("wrong", problems[0]) if problems else ("right", "it took the greeting")


@_check("timing")
def _timing(evidence: Evidence) -> tuple[Judgement, str]:
    if (turn := evidence.turn) is None:
        return "not seen", "no turn was played"
    late = [exchange for exchange in (turn, evidence.retry, evidence.second) if exchange and exchange.is_late]
    return ("wrong", str(late[0].problem)) if late else ("right", f"turn 1 took {turn.seconds:.1f} s")


@_check("turn")
def _turn(evidence: Evidence) -> tuple[Judgement, str]:
    turn = evidence.turn
    if turn is None or turn.is_late:
        return "not seen", "there is no answer to a turn"
    if turn.kind not in (None, failures.PARTICIPANT_MISBEHAVED) or (turn.problem and turn.answer is None):
        return "wrong", str(turn.problem)
    return "right", "its task, or message, ends well"


@_check("message-type")
def _message_type(evidence: Evidence) -> tuple[Judgement, str]:
    if (turn := _answered(evidence)) is None:
        return "not seen", "there is no answer to a turn"
    if _find_kind(turn) not in _ANSWERS:
        return "wrong", str(turn.problem)
    return "right", f"it answers with {_find_kind(turn)}"


@_check("message-fields")
def _message_fields(evidence: Evidence) -> tuple[Judgement, str]:
    turn = _answered(evidence)
    if turn is None or _find_kind(turn) not in _ANSWERS:
        return "not seen", "there is no answer of a known type"
    return ("right", "all fields are well-formed") if turn.problem is None else ("wrong", turn.problem)


@_check("apart")
def _apart(evidence: Evidence) -> tuple[Judgement, str]:
    if evidence.turn is None:
        return "not seen", "no turn was played"
    if evidence.astray:
        asked = ", ".join(dict.fromkeys(f"{request.method} {request.path}" for request in evidence.astray[:3]))
        return "wrong", f"in a turn of one assessment it asked {asked} of another's simulation"
    if not evidence.turn.requests:
        return "not seen", "it asked nothing of the simulation"
    return "right", "of two assessments, it acted in the one whose turn it was"


@_check("key")
def _key(evidence: Evidence) -> tuple[Judgement, str]:
    turn = evidence.turn
    if turn is None or not turn.requests or evidence.astray:
        return "not seen", "it asked nothing of the simulation"
    refused = [request for request in turn.requests if request.is_refused]
    if refused:
        return "wrong", f"{refused[0].method} {refused[0].path} was refused with {refused[0].status}"
    return "right", f"{len(turn.requests)} requests, none was refused"


@_check("unreported")
def _unreported(evidence: Evidence) -> tuple[Judgement, str]:
    if (report := _report(evidence)) is None:
        return "not seen", "it did nothing that could be reported"
    if report.unreported:
        return "wrong", f"it did {_names(report.unreported)}, and didn't say so"
    return "right", "all that it did is in its reports"


@_check("made-up")
def _made_up(evidence: Evidence) -> tuple[Judgement, str]:
    if (report := _report(evidence)) is None:
        return "not seen", "it did and reported nothing"
    if report.never_happened:
        return "wrong", f"it reports {_names(report.never_happened)}, which never happened"
    return "right", "all that it reports has happened"


@_check("same-message")
def _same_message(evidence: Evidence) -> tuple[Judgement, str]:
    again, turn = evidence.again, evidence.turn
    if again is None or turn is None:
        return "not seen", "no turn was completed"
    if again.actions:
        return "wrong", f"it did {_names(again.actions)} when the message came a second time"
    if again.problem is not None:
        return "wrong", f"when the message came a second time: {again.problem}"
    if again.reply != turn.reply:
        return "wrong", "its second answer is another one than its first"
    return "right", "the same answer, and nothing was done twice"


@_check("played-again")
def _played_again(evidence: Evidence) -> tuple[Judgement, str]:
    retry, turn = evidence.retry, evidence.turn
    if retry is None or turn is None or retry.is_late:
        return "not seen", "no turn was played again"
    if retry.problem is not None:
        return "wrong", f"at the second try: {retry.problem}"
    if turn.actions and not retry.actions:
        return "wrong", f"its first try did {_names(turn.actions)}, its second nothing, from the same start"
    return ("right", "it played the turn again") if turn.actions else ("not seen", "it did nothing in either try")


@_check("new-greeting")
def _new_greeting(evidence: Evidence) -> tuple[Judgement, str]:
    greeted, turn = evidence.regreeted, evidence.second
    if greeted is None:
        return "not seen", "the assessment didn't get there"
    if greeted.problem is not None:
        return "wrong", greeted.problem
    if turn is None or turn.is_late:
        return "not seen", "turn 2 has no answer"
    if unknown := [request for request in turn.requests if request.is_by_no_key]:
        return "wrong", f"{unknown[0].method} {unknown[0].path} was refused with {unknown[0].status}: by the old key?"
    if turn.problem is not None:
        return "wrong", f"after it, turn 2: {turn.problem}"
    return ("right", "it continued with the new key") if turn.requests else ("not seen", "it asked nothing in turn 2")


@_check("cancellation")
def _cancellation(evidence: Evidence) -> tuple[Judgement, str]:
    if evidence.cancelled is None or not evidence.is_task_known:
        return "not seen", "there was no running task to cancel"
    if evidence.after_cancel:
        return "wrong", f"it did {_names(evidence.after_cancel)} after it was cancelled"
    if evidence.cancelled.is_late:
        return "wrong", "its task never ended"
    return "right", "it did nothing more"


@_check("after-end")
def _after_end(evidence: Evidence) -> tuple[Judgement, str]:
    if evidence.conclusion is None or evidence.after_end is None:
        return "not seen", "no assessment began"
    if evidence.after_end:
        request = evidence.after_end[0]
        return "wrong", f"{request.method} {request.path} came after the end"
    if evidence.conclusion.problem is not None:
        if evidence.turn is None or evidence.turn.reply is None:
            return "not seen", "no turn was completed"
        return "wrong", evidence.conclusion.problem
    return "right", "it took its leave, and asked nothing more"


def _leads_astray(exchange: Exchange) -> bool:
    problem = exchange.problem or ""
    return exchange.kind == failures.PARTICIPANT_UNREACHABLE or "agent card" in problem


def _is_version_to_blame(evidence: Evidence, version: str) -> bool:
    """Whether a greeting failed because of its version: the answer wasn't A2A, or another version was accepted."""
    greeted = evidence.greeted[version]
    if greeted.problem is None or _leads_astray(greeted):
        return False
    others = [exchange for name, exchange in evidence.greeted.items() if name != version]
    return greeted.kind == failures.PARTICIPANT_MISBEHAVED or any(other.problem is None for other in others)


def _answered(evidence: Evidence) -> Exchange | None:
    """The exchange of turn 1, if its answer should be readable."""
    turn = evidence.turn
    return turn if turn is not None and turn.answer is not None and not turn.answer.has_failed else None


def _find_kind(turn: Exchange) -> str | None:
    assert turn.answer is not None
    kinds = (document.get("message_type") for document in turn.answer.find_documents())
    return next((str(kind) for kind in kinds if kind is not None), None)


def _report(evidence: Evidence) -> ActionReport | None:
    """Compare the agent's reports of its turns with its actions; None if there is nothing to compare."""
    reported: list[ReportedAction] = []
    observed: list[ActionLogEntryWithTurn] = []
    for number, exchange in ((1, evidence.turn), (2, evidence.second)):
        if exchange is None or exchange.reply is None or evidence.astray:
            continue
        if isinstance(exchange.reply, EarlyCompletionMessage) and exchange.reply.actions is None:
            continue
        actions = exchange.reply.actions or []
        reported += [ReportedAction(**action.model_dump(exclude={"message_type"}), turn=number) for action in actions]
        observed += exchange.actions
    return compare(reported, observed) if reported or observed else None


def _names(actions: list[ActionLogEntryWithTurn] | list[ReportedAction]) -> str:
    return ", ".join(dict.fromkeys(action.action for action in actions))
