"""Where a result comes from: what was assessed, by which scenario, evaluators and models, when, and for how much."""

from collections.abc import Iterable, Sequence
from typing import Literal, Self, TypeVar

from pydantic import Field

from purple_sdk.protocol._wire import Instant, WireModel

Number = TypeVar("Number", int, float)


class ModelUse(WireModel):
    """What a role asked of one model, by all answers that came: those that were refused, and of failed attempts, too.

    ``endpoint`` is the host that was asked; ``temperature`` is None where none is sent; ``prompt_version`` names the
    prompt, None where a scenario's evaluator asked it in its own words. ``input_tokens`` include
    ``cached_tokens``. Tokens are None where the endpoint doesn't report them, and so is the cost of a model that the
    operator's table has no price for; ``currency`` is that table's.
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
        """This use and another one of the same model. A figure that is unknown in either is unknown in the sum."""
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
    """One entry for each model, endpoint, temperature and prompt, in the order of their first use."""
    totals: dict[tuple[object, ...], ModelUse] = {}
    for use in uses:
        known = totals.get(use._who)
        totals[use._who] = use if known is None else known.add(use)
    return list(totals.values())


def tokens_of(uses: Sequence[ModelUse]) -> int | None:
    """Tokens in and out; None where no model was asked, or one doesn't report them."""
    counted = [(use.input_tokens, use.output_tokens) for use in uses]
    if not counted or any(one is None or other is None for one, other in counted):
        return None
    return sum((one or 0) + (other or 0) for one, other in counted)


def cost_of(uses: Sequence[ModelUse]) -> float | None:
    """The cost of the models; None where no model was asked, or a price is unknown."""
    costs = [use.cost for use in uses]
    return None if not costs or any(cost is None for cost in costs) else sum(cost or 0.0 for cost in costs)


class Drafts(WireModel):
    """What a model wrote in the names of characters and of the user.

    ``refused`` of the ``written`` drafts were not sent: they said what the person can't know, may not say or won't do.
    ``scripted`` answers were taken from the scenario, since all drafts of them were refused.
    """

    written: int = Field(default=0, ge=0)
    refused: int = Field(default=0, ge=0)
    scripted: int = Field(default=0, ge=0)

    @property
    def share(self) -> float | None:
        """The share of the drafts that was refused, 0 to 1; None without any."""
        return self.refused / self.written if self.written else None

    def add(self, other: "Drafts") -> "Drafts":
        """Both together."""
        return Drafts(
            written=self.written + other.written,
            refused=self.refused + other.refused,
            scripted=self.scripted + other.scripted,
        )

    def sentence(self) -> str:
        """One readable sentence; empty without any draft."""
        if self.share is None:
            return ""
        scripted = f"; {self.scripted} answers were scripted instead" if self.scripted else ""
        return f"{self.refused} of {self.written} drafts of characters were refused ({self.share:.1%}){scripted}"


class ParticipantCard(WireModel):
    """What a participant's agent card calls it."""

    name: str
    version: str


class Provenance(WireModel):
    """Which rules, models and prompts made a score.

    ``scenario_version`` is the author's, ``scenario_hash`` the SHA-256 of all files of the scenario, with its
    evaluators, as they were frozen at admission (the name of a blob in the evaluator's store). ``reader`` is the
    version of the rules by which messages were read. ``family`` and ``difficulty`` are of a family's day, None for a
    fixed scenario. ``evaluators`` says whether its evaluators judged as they were then (``frozen``), as they were when
    judging was done again (``current``, on demand only), or in both ways (``mixed``); ``evaluators_hashes`` are the
    scenario's files that they were of. ``judges`` and ``characters`` are the models that were asked, and what that
    took; ``drafts`` is how much of the characters' answers was refused, None where no model plays them.
    ``seconds_played`` is the time from ``started_at`` to ``ended_at`` without the pauses before resets.
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
    """Which evaluators judged, by the hashes of the scenario's files that they were of; None where none did."""
    if not hashes:
        return None
    if all(each == frozen for each in hashes):
        return "frozen"
    return "mixed" if frozen in hashes else "current"
