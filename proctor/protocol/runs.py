"""A campaign of assessments: agents × scenarios × seeds × repeats, asked for in one request and summed up as one."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import Field, JsonValue, ValidationInfo, computed_field, field_validator, model_validator
from pydantic_core import PydanticCustomError

from purple_sdk.protocol._wire import Instant, WireModel
from purple_sdk.protocol.clocks import ClockName, NoiseLevel
from purple_sdk.protocol.problems import show_value
from purple_sdk.protocol.provenance import Drafts
from purple_sdk.protocol.request import (
    AssessmentConfig,
    Raw,
    check_addresses,
    check_difficulty,
    checked,
    read_text,
    require_fork,
    settings_in,
    with_participants,
)
from purple_sdk.protocol.results import UnreadMessages
from purple_sdk.protocol.statistics import Comparison, ForkSpread, Item, RunStatus, Summary, cost_in_words

_ASKS_FOR_A_RUN = {"scenarios", "seeds", "repeats", "num_shards", "grows", "from_turns"}
MOST_CELLS = 100_000
FirstTurn = Annotated[int, Field(ge=1, le=100_000)]
_LISTS = {"scenario_id": "scenarios", "difficulty": "difficulties", "seed": "seeds", "from_turn": "from_turns"}
"""What names a single one, and the setting that it stands for."""
_SHAPE = '{"participants": {NAME: URL, …}, "config": {"scenarios": [ID, …], "seeds": [N, …], "repeats": N}}'


class RunConfig(WireModel):
    """What the sender may choose.

    Attributes:
        fork_of: the id of an assessment to fork, each time from each of ``from_turns``: turns that forks play first
            themselves, or ``every``; ``from_turn`` names a single one. Fields that are left out are taken from that
            assessment, the seed, judges and participants too.
        scenarios: which to play; ``scenario_id`` names a single one.
        seeds: each agent plays each scenario with each of them; ``seed`` names a single one.
        difficulties: of families' days: each is played with each of them; ``difficulty`` names a single one. Fixed
            scenarios have none.
        repeats: how often the same agent, scenario, difficulty and seed is played.
        at_once: the largest number of assessments at the same time.
        at_once_per_participant, at_once_per_model: the largest number of those that talk to one participant, or have
            one model judge or play characters.
        tries: how often an assessment is played that fails.
        play_again: which failed ones that holds for: those that failed by no fault of the participant's
            (``blameless``), or all of them (``failed``).
        max_cost, max_tokens, max_hours: no cell starts that would probably pass the limit: of what models cost (in the
            price table's currency), of their tokens, of time. The forecast is the mean of the same agent on the same
            scenario. None starts where a model's price or tokens turn out to be unknown, since no limit can be held
            then.
        passing_percent: the pass mark: the share of its judged points that a run needs to pass. A run that its
            participant failed does not pass.
        grows: the id of a campaign that has ended: its assessments are taken over, and not played again.
        shard_index, num_shards: play only those cells whose number modulo ``num_shards`` is ``shard_index``.
        clock, noise, max_turns, offline, turn_timeout, turn_tries, judges, votes: as for one assessment
            (``AssessmentConfig``).
        verbose_updates: tell of every cell, or only now and then.
    """

    fork_of: str | None = Field(default=None, min_length=1, max_length=200)
    from_turns: Annotated[list[FirstTurn], Field(min_length=1, max_length=10_000)] | Literal["every"] | None = None
    scenarios: list[str] = Field(default_factory=list, max_length=1_000)
    seeds: list[int] = Field(default=[42], min_length=1, max_length=10_000)
    difficulties: list[int] | None = Field(default=None, min_length=1)
    repeats: int = Field(default=1, ge=1, le=10_000)
    at_once: int = Field(default=4, ge=1, le=1_000)
    at_once_per_participant: int | None = Field(default=None, ge=1)
    at_once_per_model: int | None = Field(default=None, ge=1)
    tries: int = Field(default=2, ge=1, le=10)
    play_again: Literal["blameless", "failed"] = "blameless"
    max_cost: float | None = Field(default=None, gt=0)
    max_tokens: int | None = Field(default=None, ge=1)
    max_hours: float | None = Field(default=None, gt=0, le=24 * 365)
    passing_percent: float = Field(default=60.0, ge=0, le=100)
    grows: str | None = None
    shard_index: int = Field(default=0, ge=0)
    num_shards: int = Field(default=1, ge=1)
    clock: ClockName | None = None
    noise: NoiseLevel | None = None
    max_turns: int | None = Field(default=None, ge=1, le=100_000)
    offline: bool = False
    turn_timeout: float | None = Field(default=None, gt=0, le=86_400)
    turn_tries: int | None = Field(default=None, ge=1, le=10)
    judges: list[str] | None = Field(default=None, min_length=1, max_length=9)
    votes: int = Field(default=1, ge=1, le=9)
    verbose_updates: bool = True

    @model_validator(mode="before")
    @classmethod
    def _one_is_a_list_of_one(cls, data: Any) -> Any:
        if not isinstance(data, Mapping):
            return data
        data = dict(data)
        for one, many in _LISTS.items():
            if one in data and many not in data:
                data[many] = [data[one]]
        return data

    @field_validator("scenarios")
    @classmethod
    def _only_forks_need_no_scenario(cls, scenarios: list[str], others: ValidationInfo) -> list[str]:
        if not scenarios and not others.data.get("fork_of"):
            raise PydanticCustomError("missing", "Field required")
        return scenarios

    @field_validator("difficulties")
    @classmethod
    def _difficulties_are_some_of_them(cls, difficulties: list[int] | None) -> list[int] | None:
        return difficulties and [check_difficulty(each) for each in difficulties]

    @field_validator("scenarios", "seeds", "from_turns", "difficulties")
    @classmethod
    def _nothing_twice(cls, values: Any) -> Any:
        if not isinstance(values, list):
            return values
        if twice := next((value for value in values if values.count(value) > 1), None):
            raise ValueError(f"{show_value(twice)} is there twice: name it once, and set repeats")
        return values

    @model_validator(mode="after")
    def _is_consistent(self) -> Self:
        if self.shard_index >= self.num_shards:
            raise ValueError(
                f"shard_index is {self.shard_index} with num_shards {self.num_shards}: shards are counted from 0"
            )
        require_fork(self.fork_of, self.from_turns, "from_turns")
        return self

    def of_one(
        self, scenario_id: str, seed: int, from_turn: int | None = None, difficulty: int | None = None
    ) -> AssessmentConfig:
        """The settings of one of the assessments, in the names of ``AssessmentConfig``.

        Raises ``pydantic.ValidationError`` where they don't fit together.
        """
        shared = self.model_dump(include=set(AssessmentConfig.model_fields), exclude={"verbose_updates"})
        own = {"scenario_id": scenario_id, "difficulty": difficulty, "seed": seed, "from_turn": from_turn}
        return AssessmentConfig.model_validate({**shared, **own})


class RunRequest(WireModel):
    """Which agents (name to A2A address), on what. Forks without agents have the original's participant."""

    participants: dict[str, str] = Field(max_length=1_000)
    config: RunConfig

    _addresses_are_urls = field_validator("participants")(check_addresses)

    _a_fork_may_name_nobody = model_validator(mode="before")(with_participants)

    @model_validator(mode="after")
    def _somebody_plays_and_it_ends(self) -> Self:
        if not self.participants and not self.config.fork_of:
            raise ValueError(
                'participants is empty: name the agents to assess, such as {"mine": "http://localhost:8001"}'
            )
        config = self.config
        turns = len(config.from_turns) if isinstance(config.from_turns, list) else 1
        each = max(len(self.participants), 1) * max(len(config.scenarios), 1) * turns
        cells = each * len(config.seeds) * len(config.difficulties or [None]) * config.repeats
        if cells > MOST_CELLS:
            raise ValueError(f"this would be {cells:,} assessments, more than {MOST_CELLS:,}: ask for fewer")
        return self


def is_run_request(raw: Raw) -> bool:
    """Whether a message asks for a campaign of assessments; says nothing of whether the request is a good one."""
    config = settings_in(raw)
    return not _ASKS_FOR_A_RUN.isdisjoint(config) and "benchmark" not in config


def parse_run_request(raw: Raw) -> RunRequest:
    """Read a request for a campaign of assessments from a message's data part, or its text; raises as ``checked``."""
    return checked(RunRequest, read_text(raw) if isinstance(raw, str) else raw, _SHAPE)


def unknown_run_settings(raw: Raw) -> list[str]:
    """Names under ``config`` that a campaign doesn't know, so that a misspelt one can be pointed out."""
    return sorted(set(settings_in(raw)) - {*RunConfig.model_fields, *_LISTS, "num_instances"})


class RunCell(WireModel):
    """One assessment of a campaign.

    ``task_id`` is its own, by which it is found; ``plays`` how often it was played; ``tokens`` and ``cost`` are of the
    models that judged it and played its characters, None where unknown. Without ``max_score`` it was not judged.
    ``from_turn`` is the first turn that a fork played itself. ``difficulty`` is of a family's day, None for a fixed
    scenario; ``scenario_hash`` is of the files that were played.
    """

    agent: str
    scenario_id: str
    difficulty: int | None = None
    scenario_hash: str | None = None
    from_turn: int | None = None
    seed: int
    repeat: int
    task_id: str
    status: RunStatus
    failed_by_participant: bool = False
    failure_kind: str | None = None
    failure: str | None = None
    score: int | None = None
    max_score: int | None = None
    doubtful_points: int = 0
    unread_messages: UnreadMessages = UnreadMessages()
    total_points: int | None = None
    plays: int = 1
    taken_over: bool = False
    tokens: int | None = None
    cost: float | None = None
    seconds: float = 0.0


class RunResults(WireModel):
    """The outcome of a campaign of assessments: the A2A artifact ``run_results``.

    ``missing`` were never played; ``stopped`` says which limit kept them from it. ``scenario_hashes`` are those of the
    files that were played; of a family, of its code and the kit that made its days. ``comparisons`` are of each two
    agents. ``judge_warnings`` are those of its assessments, each once; ``drafts`` is the sum of theirs. Tables name
    forks' scenarios with the turn that they began with; ``forks`` says for each agent how much each of these turns
    decided.
    """

    message_type: Literal["run_results"] = "run_results"
    campaign_id: str
    status: Literal["completed", "failed", "canceled"]
    failure: str | None = None
    stopped: str | None = None
    agents: dict[str, str]
    scenario_hashes: dict[str, str] = Field(default_factory=dict)
    cells: list[RunCell] = Field(default_factory=list)
    missing: int = Field(default=0, ge=0)
    summaries: list[Summary] = Field(default_factory=list)
    comparisons: list[Comparison] = Field(default_factory=list)
    items: list[Item] = Field(default_factory=list)
    judge_warnings: list[str] = Field(default_factory=list)
    drafts: Drafts | None = None
    forks: list[ForkSpread] = Field(default_factory=list)
    tokens: int | None = None
    cost: float | None = None
    started_at: Instant | None = None
    ended_at: Instant | None = None
    duration_seconds: float = Field(default=0, ge=0)
    config: dict[str, JsonValue] = Field(default_factory=dict)
    proctor_version: str = ""

    @computed_field  # type: ignore[prop-decorator]
    @property
    def cost_known(self) -> int:
        """How many of its assessments know their cost."""
        return sum(cell.cost is not None for cell in self.cells)

    @property
    def cost_text(self) -> str:
        """The cost in words; empty where it is unknown."""
        return cost_in_words(self.cost, self.cost_known, len(self.cells))

    @computed_field  # type: ignore[prop-decorator]
    @property
    def unread_messages(self) -> UnreadMessages:
        """The messages of all its assessments in which no value was read."""
        return UnreadMessages.sum(cell.unread_messages for cell in self.cells)


def in_words(results: RunResults) -> str:
    """A campaign's result in words: a line for each agent and scenario."""
    lines = []
    for row in results.summaries:
        if row.of != "overall":
            continue
        where = row.scenario or "all scenarios"
        if row.percent is None:
            text = "nothing judged"
        else:
            low, high = row.percent.low, row.percent.high
            interval = "" if low is None or high is None else f" ({low:.1f} to {high:.1f})"
            text = f"{row.percent.mean:.1f}%{interval} over {row.percent.values} of {row.counts.runs}"
            text += f"; {row.lost_in_words()}" if row.lost else ""
            text += f", {row.groups.passed} of {row.groups.groups} groups all right" if row.groups else ""
        lines.append(f"{row.agent} on {where}: {text}")
    if results.missing:
        lines.append(f"{results.missing} were never played.")
    drafts = results.drafts.sentence() if results.drafts else None
    unread = results.unread_messages.sentence()
    return "\n".join([*lines, *results.judge_warnings, *filter(None, [drafts, unread, results.stopped])])
