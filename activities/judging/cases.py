"""A scenario's calibration cases: small pieces of evidence, each with its author's verdict on one item.

``calibration/*.jsonl`` has one case per line. A case becomes records in the same way as an assessment's evidence. Cases
of facts are in ``paraphrases/*.txt``. Each line is a text that states a fact, or a text that doesn't.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from proctor.activities.judging.model_judge import Item, list_items
from proctor.activities.judging.records import Record, make_records
from proctor.activities.plan import Model
from proctor.activities.scenario_code.paraphrases import Paraphrase
from proctor.protocol.evaluation import AgentBeatsEvalContext
from proctor.protocol.modalities import Written
from proctor.protocol.scenario import EvaluationCriterion, ScenarioConfig
from purple_sdk.protocol.problems import describe
from purple_sdk.protocol.results import ActionLogEntryWithTurn

FOLDER = "calibration"

CaseKind = Literal["clear", "borderline", "hostile"]
KINDS: tuple[CaseKind, ...] = ("clear", "borderline", "hostile")

FACT_CASES = 6
"""The number of cases of each fact: half of them state the fact, half don't."""


_Case = TypeVar("_Case")


class CasesError(ValueError):
    """Cases that can't be used; the message names file, line, field and remedy."""


class _Piece(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    turn: int = Field(default=1, ge=1)


class ChatPiece(_Piece):
    """A chat message of the participant to the user."""

    kind: Literal["chat"]
    text: str


class EmailPiece(_Piece):
    """A mail that the participant sent."""

    kind: Literal["email"]
    to: list[str] = Field(min_length=1)
    subject: str
    text: str


class SmsPiece(_Piece):
    """A text message that the participant sent."""

    kind: Literal["sms"]
    to: list[str] = Field(min_length=1)
    text: str


class NotePiece(_Piece):
    """The participant's report to the evaluator at the end of a turn. There is at most one per turn."""

    kind: Literal["note"]
    text: str


class ActionPiece(_Piece):
    """Any other action of the participant, by its name in the log."""

    kind: Literal["action"]
    action: str
    parameters: dict[str, Any] = {}


class StatePiece(_Piece):
    """A new entry of the environment at the end, for example a mail by another person."""

    kind: Literal["state"]
    modality: Written
    entry: dict[str, Any]


Piece = Annotated[ChatPiece | EmailPiece | SmsPiece | NotePiece | ActionPiece | StatePiece, Field(discriminator="kind")]


class CalibrationCase(BaseModel):
    """One case.

    Attributes:
        id: its name, unique in its scenario.
        kind: clear, borderline, or hostile (the evidence tries to influence the judge).
        criterion, item: the subject of the judgement.
        points: the author's verdict, from 0 to the item's maximum.
        why: the reasons for the verdict, for a reader who doubts it.
        evidence: the records that a judge sees.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    id: str = Field(min_length=1)
    kind: CaseKind
    criterion: str
    item: str
    points: int = Field(ge=0)
    why: str = Field(min_length=1)
    evidence: list[Piece]


class FactCase(Model):
    id: str
    fact: str
    statement: str
    is_said: bool
    text: str


def fact_cases(paraphrases: Iterable[Paraphrase], statements: Mapping[str, str]) -> list[FactCase]:
    """Choose cases of each fact from a scenario's paraphrases, the same ones every time.

    Args:
        paraphrases: the scenario's paraphrases.
        statements: the facts in words, by their names. Paraphrases of other facts are left out.
    """
    piles: dict[tuple[str, bool], list[FactCase]] = {}
    for line in paraphrases:
        if line.fact in statements:
            case = FactCase(
                id=f"{line.fact}: {line.where}",
                fact=line.fact,
                statement=statements[line.fact],
                is_said=line.is_right,
                text=line.text,
            )
            piles.setdefault((line.fact, line.is_right), []).append(case)
    chosen = (sorted(pile, key=lambda case: sha256(case.text.encode()).digest()) for pile in piles.values())
    return list(_in_turn([pile[: FACT_CASES // 2] for pile in chosen]))


def read_cases(directory: Path, scenario: ScenarioConfig) -> list[CalibrationCase]:
    """Read the cases of a scenario, in order of files and lines. The list is empty if the scenario ships none. Raises
    ``CasesError``.
    """
    cases: dict[str, CalibrationCase] = {}
    for path in sorted((directory / FOLDER).glob("*.jsonl")):
        try:
            lines = path.read_text(encoding="utf-8").split("\n")
        except (OSError, UnicodeError) as error:
            raise CasesError(f"{path} can't be read: {error}") from None
        for number, line in enumerate(lines, 1):
            if not line.strip():
                continue
            where = f"{path.name}, line {number}"
            try:
                case = CalibrationCase.model_validate_json(line)
            except ValidationError as error:
                raise CasesError(f"{where}: {describe(error)}") from None
            if case.id in cases:
                raise CasesError(f"{where}: id {case.id!r} is taken by an earlier case: choose another")
            most = find_item(case, scenario, where).points
            if case.points > most:
                raise CasesError(f"{where}: points is {case.points}: item {case.item} has at most {most}")
            cases[case.id] = case
    return list(cases.values())


def find_criterion(case: CalibrationCase, scenario: ScenarioConfig, where: str = "") -> EvaluationCriterion:
    """Return the criterion of a case, with the case's item alone. Raises ``CasesError`` if the scenario lacks the
    criterion, or if no model judges it.
    """
    where = where or f"case {case.id}"
    modelled = {candidate.criterion_id: candidate for candidate in scenario.criteria if not candidate.evaluator_id}
    criterion = modelled.get(case.criterion)
    if criterion is None:
        known = ", ".join(modelled) or "none"
        raise CasesError(f"{where}: criterion is {case.criterion!r}: those that a model judges are {known}")
    if not criterion.rubric:
        return criterion
    chosen = [item for item in criterion.rubric if item.id == case.item]
    if not chosen:
        known = ", ".join(item.id for item in criterion.rubric)
        raise CasesError(f"{where}: item is {case.item!r}: {case.criterion} has {known}")
    return criterion.model_copy(update={"rubric": chosen, "max_score": chosen[0].points})


def find_item(case: CalibrationCase, scenario: ScenarioConfig, where: str = "") -> Item:
    """Return the item of a case. Raises the errors of ``find_criterion``."""
    [item] = list_items(find_criterion(case, scenario, where))
    return item


def records_of_case(case: CalibrationCase, scenario: ScenarioConfig) -> list[Record]:
    tables = {"email": "emails", "sms": "messages", "calendar": "events", "chat": "messages"}
    arrived = {
        modality: {
            f"e{number}": piece.entry
            for number, piece in enumerate(case.evidence, 1)
            if isinstance(piece, StatePiece) and piece.modality == modality
        }
        for modality in tables
    }
    return make_records(
        AgentBeatsEvalContext(
            client=None,
            scenario_config={},
            action_log=[entry for piece in case.evidence if (entry := _log_entry(piece, scenario)) is not None],
            initial_state={},
            final_state={name: {tables[name]: entries} for name, entries in arrived.items() if entries},
            user_prompt=scenario.user_prompt,
            llm=None,
            turn_notes={piece.turn: piece.text for piece in case.evidence if isinstance(piece, NotePiece)},
        )
    )


def _log_entry(piece: Piece, scenario: ScenarioConfig) -> ActionLogEntryWithTurn | None:
    parameters: dict[str, Any]
    match piece:
        case ChatPiece():
            action, parameters = "chat.send_message", {"role": "assistant", "content": piece.text}
        case EmailPiece():
            action = "email.send"
            parameters = {"to_addresses": piece.to, "subject": piece.subject, "body_text": piece.text}
        case SmsPiece():
            action, parameters = "sms.send", {"to_numbers": piece.to, "body": piece.text}
        case ActionPiece():
            action, parameters = piece.action, piece.parameters
        case _:
            return None
    at = scenario.start_of_turn(piece.turn)
    return ActionLogEntryWithTurn(turn=piece.turn, timestamp=at, action=action, parameters=parameters, success=True)


def sample(cases: Sequence[CalibrationCase], most: int | None) -> list[CalibrationCase]:
    """Choose at most ``most`` cases, in turn from every kind and item. The choice is the same every time."""
    if most is None or most >= len(cases):
        return list(cases)
    # Ordered by a digest: no person chooses the order, and it prefers no item.
    items = sorted({case.item for case in cases}, key=lambda item: sha256(item.encode()).digest())
    by_kind = []
    for number, kind in enumerate(KINDS):
        start = number * len(items) // len(KINDS)  # each kind begins at another item, so few cases cover many items
        piles = []
        for place, item in enumerate(items[start:] + items[:start]):
            own = [case for case in cases if (case.kind, case.item) == (kind, item)]
            met, unmet = [case for case in own if case.points], [case for case in own if not case.points]
            piles.append(list(_in_turn([met, unmet] if place % 2 else [unmet, met])))
        by_kind.append(list(_in_turn(piles)))
    return list(_in_turn(by_kind))[:most]


def _in_turn(piles: Sequence[Sequence[_Case]]) -> Iterator[_Case]:
    """Yield the first of every pile, then the second of every pile that has one, and so on."""
    for depth in range(max(map(len, piles), default=0)):
        yield from (pile[depth] for pile in piles if depth < len(pile))


def digest_cases(cases: Sequence[CalibrationCase | FactCase]) -> str:
    """Return a short digest that identifies these cases."""
    return sha256("\n".join(sorted(case.model_dump_json() for case in cases)).encode()).hexdigest()[:16]
