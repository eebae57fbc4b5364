"""Score rubric items by their mechanical checks (``RubricCheck``) if no model judges."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from proctor.language.facts import Answer, both, either
from proctor.language.patterns import has_match
from proctor.language.reader.reading import Reading
from proctor.protocol.recipients import read_recipients
from proctor.protocol.scenario import EvaluationCriterion, RubricCheck, RubricItem
from proctor.protocol.visible import visible
from purple_sdk.protocol.readings import chat_text
from purple_sdk.protocol.results import ActionLogEntryWithTurn, CriterionResult, Doubt, unscored

_EMAIL_ACTIONS = {"email.send", "email.reply", "email.reply_all", "email.forward"}
_CALENDAR_ACTIONS = {"calendar.create", "calendar.update"}

NO_MODEL = "no model (offline)"

Read = Callable[[str], Reading]


@dataclass(frozen=True)
class WrittenText:
    """A text that the participant wrote; ``modality`` is chat, email, sms or calendar."""

    modality: str
    turn: int
    recipients: tuple[str, ...]
    text: str


@dataclass(frozen=True)
class ItemScore:
    """The score of a rubric item. ``met`` is None if no judge could decide the item; its points don't count then.

    An item that its patterns can't decide is in doubt, and not met.
    """

    item: RubricItem
    met: bool | None
    reason: str
    is_doubtful: bool = False

    @property
    def points(self) -> int:
        return self.item.points if self.met else 0


def texts_written(action_log: Sequence[ActionLogEntryWithTurn]) -> list[WrittenText]:
    """Return all texts that the participant sent, in order. Texts that couldn't be sent are left out."""
    return [text for entry in action_log if entry.success and (text := text_written(entry)) is not None]


def text_written(entry: ActionLogEntryWithTurn) -> WrittenText | None:
    """Return the text of an action; None if the action writes nothing."""
    parameters: dict[str, Any] = entry.parameters
    if entry.action in _EMAIL_ACTIONS:
        modality, text = "email", f"{_string(parameters, 'subject')}\n{_string(parameters, 'body_text')}"
    elif entry.action == "sms.send":
        modality, text = "sms", _string(parameters, "body")
    elif entry.action == "chat.send_message" and parameters.get("role") == "assistant":
        modality, text = "chat", chat_text(parameters.get("content"))
    elif entry.action in _CALENDAR_ACTIONS:
        modality, text = "calendar", f"{_string(parameters, 'title')}\n{_string(parameters, 'description')}"
    else:
        return None
    return WrittenText(modality, entry.turn, tuple(read_recipients(parameters)), text)


def _string(parameters: dict[str, Any], name: str) -> str:
    value = parameters.get(name)
    return value if isinstance(value, str) else ""


def judge_by_checks(
    criterion: EvaluationCriterion, action_log: Sequence[ActionLogEntryWithTurn], read: Read
) -> CriterionResult:
    """Score a criterion by its rubric's mechanical checks. Points of items without a check are unscored.

    ``read`` is the scenario's function for reading a text.
    """
    scores = score_rubric(criterion.rubric or [], action_log, read)
    judged = [score for score in scores if score.met is not None]
    if not judged:
        return unscored(criterion, f"{NO_MODEL}, and no item of the rubric has a mechanical check")
    missing = [score for score in scores if score.met is None]
    points = sum(score.points for score in judged)
    judged_points = sum(score.item.points for score in judged)
    unmet = [f"{score.item.id} ({score.reason})" for score in judged if not score.met]
    doubtful = [score for score in judged if score.is_doubtful]
    explanation = f"{points} of {judged_points} mechanically checked points."
    if unmet:
        explanation += f" Not met: {'; '.join(unmet)}."
    return CriterionResult(
        criterion_id=criterion.criterion_id,
        name=criterion.name,
        dimension=criterion.dimension,
        score=points,
        max_score=judged_points,
        explanation=explanation,
        details={"items": [_item_details(score) for score in scores]},
        judged_by="offline_rubric",
        doubtful_points=sum(score.item.points for score in doubtful),
        doubts=[Doubt(item=s.item.id, statement=s.item.statement, reason=s.reason) for s in doubtful],
        unscored_points=sum(score.item.points for score in missing),
        unscored_reason=(
            f"{NO_MODEL}, and these items have no mechanical check: {', '.join(s.item.id for s in missing)}"
            if missing
            else None
        ),
    )


def _item_details(score: ItemScore) -> dict[str, Any]:
    return {
        "id": score.item.id,
        "statement": score.item.statement,
        "points": score.points,
        "max_points": score.item.points,
        "met": score.met,
        "by": "offline_rubric" if score.met is not None else "nobody",
        "reason": score.reason,
        **({"doubt": True} if score.is_doubtful else {}),
    }


def score_rubric(
    rubric: Sequence[RubricItem], action_log: Sequence[ActionLogEntryWithTurn], read: Read
) -> list[ItemScore]:
    """Score every item of a rubric. Items without a check stay unjudged."""
    texts = texts_written(action_log)
    scores = []
    for item in rubric:
        if item.check is None:
            scores.append(ItemScore(item, None, "needs a model: it has no mechanical check"))
        else:
            passed, reason = passes(item.check, texts, read)
            scores.append(ItemScore(item, bool(passed), reason, is_doubtful=passed is None))
    return scores


def passes(check: RubricCheck, texts: Sequence[WrittenText], read: Read) -> tuple[Answer, str]:
    """Decide whether a check passes on the visible part of the participant's texts. ``read`` is the scenario's function
    for reading a text.

    Returns the answer (None if the check's patterns can't decide it) and the reason as a sentence.
    """
    looked_at = [visible(text.text) for text in texts if _applies(check, text)]
    count = len(looked_at)
    answers = [check.answer(read(text)) for text in looked_at]
    matches, maybe = answers.count(True), answers.count(None)
    if check.kind == "count":
        least_to_most = f"{check.min} to {check.max if check.max is not None else 'any number'}"
        having = " with the pattern" if check.test is not None else ""
        reason = f"{matches} texts{having} (wanted: {least_to_most})"
        fits = {_within(number, check) for number in range(matches, matches + maybe + 1)}
        return (fits.pop() if len(fits) == 1 else None), reason
    if not looked_at:
        return False, f"nothing was written in {check.target} that this looks at"
    if check.kind == "length":
        lengths = [len(text.split()) for text in looked_at]
        wrong = [length for length in lengths if not _within(length, check)]
        return not wrong, f"{len(wrong)} of {count} texts have a wrong length" if wrong else f"all {count} texts fit"
    reason = f"the pattern is in {matches} of {count} texts"
    if maybe:
        reason += f", and can't be determined in {maybe}"
    if check.kind == "pattern_absent":
        return (False if matches else None if maybe else True), reason
    if check.every:
        return both(*answers), reason
    return either(*answers), reason


def _within(number: int, check: RubricCheck) -> bool:
    return check.min <= number and (check.max is None or number <= check.max)


def _applies(check: RubricCheck, text: WrittenText) -> bool:
    if check.target not in ("any", text.modality):
        return False
    if check.turns is not None and not check.turns[0] <= text.turn <= check.turns[1]:
        return False
    return check.to is None or any(has_match(check.to, address) for address in text.recipients)
