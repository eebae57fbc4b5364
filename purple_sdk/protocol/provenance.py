"""The origin of a result: participant, scenario, evaluators, models, times and costs."""

from collections.abc import Iterable, Sequence
from typing import Literal, Self, TypeVar

from pydantic import Field

from purple_sdk.protocol._wire import Instant, WireModel

Number = TypeVar("Number", int, float)


class ModelUse(WireModel):
    """A role's use of one model, over all answers, including those that were refused and those of failed attempts.

    ``endpoint`` is the host of the model; ``temperature`` is None if none was sent. ``prompt_version`` names the
    prompt; it is None if a scenario's evaluator asked in its own words. ``input_tokens`` include ``cached_tokens``.
    Tokens are None if the endpoint doesn't report them. ``cost`` is None if the operator's price table lacks the model;
    ``currency`` is the currency of that table.
    """

    model: str
    endpoint: str | None = None
    temperature: float | None = None
    prompt_version: str | None = None
    calls: int = Field(default=0, ge=0)
    input_tokens: int | None = None
    output_tokens: int | None = None
    cached_tokens: int | None = None
    cost: float | None = None
    currency: str | None = None

    @property
    def _who(self) -> tuple[object, ...]:
        return (self.model, self.endpoint, self.temperature, self.prompt_version, self.currency)

    def add(self, other: Self) -> Self:
        """Add another use of the same model. A figure that is unknown in either is unknown in the sum."""
        cost = _sum(self.cost, other.cost)
        return self.model_copy(
            update={
                "calls": self.calls + other.calls,
                "input_tokens": _sum(self.input_tokens, other.input_tokens),
                "output_tokens": _sum(self.output_tokens, other.output_tokens),
                "cached_tokens": _sum(self.cached_tokens, other.cached_tokens),
                "cost": None if cost is None else round(cost, 8),
            }
        )


def _sum(one: Number | None, other: Number | None) -> Number | None:
    return None if one is None or other is None else one + other


def added_up(uses: Iterable[ModelUse]) -> list[ModelUse]:
    """Add up the uses of each model, endpoint, temperature and prompt, in the order of first use."""
    totals: dict[tuple[object, ...], ModelUse] = {}
    for use in uses:
        known = totals.get(use._who)
        totals[use._who] = use if known is None else known.add(use)
    return list(totals.values())


def count_tokens(uses: Sequence[ModelUse]) -> int | None:
    """Return the sum of input and output tokens. None if no model was asked, or if a model doesn't report them."""
    counted = [(use.input_tokens, use.output_tokens) for use in uses]
    if not counted or any(one is None or other is None for one, other in counted):
        return None
    return sum((one or 0) + (other or 0) for one, other in counted)


def add_costs(uses: Sequence[ModelUse]) -> float | None:
    """Return the cost of the models. None if no model was asked, or if a price is unknown."""
    costs = [use.cost for use in uses]
    return None if not costs or any(cost is None for cost in costs) else sum(cost or 0.0 for cost in costs)


class Drafts(WireModel):
    """Counts of messages that a model wrote as a character or as the user.

    Of the ``written`` drafts, ``refused`` ones were not sent, because they said something that the person can't know,
    may not say or wouldn't do. ``scripted`` answers were taken from the scenario because all their drafts were refused.
    """

    written: int = Field(default=0, ge=0)
    refused: int = Field(default=0, ge=0)
    scripted: int = Field(default=0, ge=0)

    @property
    def share(self) -> float | None:
        """The share of refused drafts, 0 to 1; None if there are no drafts."""
        return self.refused / self.written if self.written else None

    def add(self, other: "Drafts") -> "Drafts":
        """Add both counts."""
        return Drafts(
            written=self.written + other.written,
            refused=self.refused + other.refused,
            scripted=self.scripted + other.scripted,
        )

    def sentence(self) -> str:
        """Return a sentence; empty if there are no drafts."""
        if self.share is None:
            return ""
        scripted = f"; {self.scripted} answers were scripted instead" if self.scripted else ""
        return f"{self.refused} of {self.written} drafts of characters were refused ({self.share:.1%}){scripted}"


class ParticipantCard(WireModel):
    """The name and version on a participant's agent card."""

    name: str
    version: str


class Provenance(WireModel):
    """The rules, models and prompts behind a score.

    ``scenario_version`` is the version that the author gave. ``scenario_hash`` is the SHA-256 of all files of the
    scenario, with its evaluators, as they were frozen at admission. The hash names a blob in the evaluator's store.
    ``reader`` is the version of the rules for reading messages. ``family`` and ``difficulty`` belong to a family's day
    and are None for a fixed scenario. ``evaluators`` says which evaluators judged: ``frozen`` (those of the admission),
    ``current`` (those at the time of a new judging, on demand only) or ``mixed`` (both). ``evaluators_hashes`` identify
    the scenario files with these evaluators. ``judges`` and ``characters`` are the models that were asked, and their
    usage. ``drafts`` counts refused answers of characters; None if no model plays them. ``seconds_played`` is the time
    from ``started_at`` to ``ended_at`` without the pauses before resets.
    """

    message_type: Literal["provenance"] = "provenance"
    proctor_version: str | None = None
    scenario_version: str | None = None
    reader: int | None = None
    scenario_hash: str | None = None
    family: str | None = None
    difficulty: int | None = None
    canary: str | None = None
    evaluators: Literal["frozen", "current", "mixed"] | None = None
    evaluators_hashes: list[str] = Field(default_factory=list)
    judges: list[ModelUse] = Field(default_factory=list)
    characters: list[ModelUse] = Field(default_factory=list)
    drafts: Drafts | None = None
    participant_url: str | None = None
    participant_card: ParticipantCard | None = None
    started_at: Instant | None = None
    ended_at: Instant | None = None
    seconds_played: float | None = None


def evaluators_used(frozen: str | None, hashes: Sequence[str]) -> Literal["frozen", "current", "mixed"] | None:
    """Return which evaluators judged, by the hashes of their scenario files; None if none did."""
    if not hashes:
        return None
    if all(sha256 == frozen for sha256 in hashes):
        return "frozen"
    return "mixed" if frozen in hashes else "current"
