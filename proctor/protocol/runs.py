"""A campaign of assessments: agents × scenarios × seeds × repeats in one request, with one summary."""

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
    read_settings,
    read_text,
    require_fork,
    with_participants,
)
from purple_sdk.protocol.results import UnreadMessages
from purple_sdk.protocol.statistics import Comparison, ForkSpread, Item, RunStatus, Summary, cost_in_words

_ASKS_FOR_A_RUN = {"scenarios", "seeds", "repeats", "num_shards", "grows", "from_turns"}
MOST_CELLS = 100_000
FirstTurn = Annotated[int, Field(ge=1, le=100_000)]
_LISTS = {"scenario_id": "scenarios", "difficulty": "difficulties", "seed": "seeds", "from_turn": "from_turns"}
"""Settings for a single value, with the list setting that each stands for."""
_SHAPE = '{"participants": {NAME: URL, …}, "config": {"scenarios": [ID, …], "seeds": [N, …], "repeats": N}}'


class RunConfig(WireModel):
    """The sender's choices for a campaign.

    Attributes:
        fork_of: the id of an assessment to fork, once from each of ``from_turns``. These are the first turns that forks
            play themselves, or ``every``; ``from_turn`` names a single one. Missing fields, including the seed, judges
            and participants, are taken from the assessment.
        scenarios: the scenarios to play; ``scenario_id`` names a single one.
        seeds: the seeds with which each agent plays each scenario; ``seed`` names a single one.
        difficulties: the difficulties at which each day of a family is played; ``difficulty`` names a single one. Fixed
            scenarios have none.
        repeats: how often the same agent, scenario, difficulty and seed is played.
        at_once: the largest number of assessments at the same time.
        at_once_per_participant, at_once_per_model: the largest number of assessments at the same time with the same
            participant, or with the same model as judge or character.
        tries: how often a failing assessment is played.
        play_again: which failed assessments are played again: only those that failed by no fault of the participant's
            (``blameless``), or all (``failed``).
        max_cost, max_tokens, max_hours: limits on the cost of models (in the price table's currency), on their tokens
            and on time. A cell that would probably pass a limit does not start. The forecast is the mean of the same
            agent on the same scenario. If a model's price or tokens turn out to be unknown, no further cell starts,
            since the limit can't be enforced.
        passing_percent: the pass mark, which is the share of its judged points that a run needs. A run that its
            participant failed does not pass.
        grows: the id of an ended campaign, whose assessments are taken over and not played again.
        shard_index, num_shards: play only the cells whose number modulo ``num_shards`` is ``shard_index``.
        clock, noise, max_turns, offline, turn_timeout, turn_tries, judges, votes: as for one assessment
            (``AssessmentConfig``).
        verbose_updates: whether every cell is reported, or only the progress now and then.
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
        return difficulties and [check_difficulty(difficulty) for difficulty in difficulties]

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
        """Return the settings of one of the assessments.

        Raises ``pydantic.ValidationError`` if they don't fit together.
        """
        shared = self.model_dump(include=set(AssessmentConfig.model_fields), exclude={"verbose_updates"})
        own = {"scenario_id": scenario_id, "difficulty": difficulty, "seed": seed, "from_turn": from_turn}
        return AssessmentConfig.model_validate({**shared, **own})


class RunRequest(WireModel):
    """The agents (name to A2A address), and what they play. Without agents, the original's participant plays forks."""

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
    """Tell whether a message asks for a campaign of assessments; its request may still be invalid."""
    config = read_settings(raw)
    return not _ASKS_FOR_A_RUN.isdisjoint(config) and "benchmark" not in config


def parse_run_request(raw: Raw) -> RunRequest:
    """Read a request for a campaign of assessments from a message's data part or text; raises errors of ``checked``."""
    return checked(RunRequest, read_text(raw) if isinstance(raw, str) else raw, _SHAPE)


def unknown_run_settings(raw: Raw) -> list[str]:
    """Return the names under ``config`` that a campaign doesn't know, to report misspelt ones."""
    return sorted(set(read_settings(raw)) - {*RunConfig.model_fields, *_LISTS, "num_instances"})


class RunCell(WireModel):
    """One assessment of a campaign.

    ``task_id`` is its own task's id; ``plays`` counts how often it was played. ``tokens`` and ``cost`` are those of the
    models that judged it and played its characters, None if unknown. Without ``max_score`` it was not judged.
    ``from_turn`` is the first turn that a fork played itself. ``difficulty`` belongs to a family's day, None for a
    fixed scenario. ``scenario_hash`` identifies the files that were played.
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

    ``missing`` counts cells that were never played; ``stopped`` names the limit that prevented them.
    ``scenario_hashes`` identify the files that were played; for a family, its code and the kit that made its days.
    ``comparisons`` has one row for each pair of agents. ``judge_warnings`` are the warnings of its assessments, each
    once, and ``drafts`` is the sum of their drafts. Tables name a fork's scenario with the turn from which the fork
    started. ``forks`` says for each agent how much each of these turns decided.
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
        """The number of assessments with known cost."""
        return sum(cell.cost is not None for cell in self.cells)

    @property
    def cost_text(self) -> str:
        """The cost in words; empty if it is unknown."""
        return cost_in_words(self.cost, self.cost_known, len(self.cells))

    @computed_field  # type: ignore[prop-decorator]
    @property
    def unread_messages(self) -> UnreadMessages:
        """The messages of all its assessments in which no value was read."""
        return UnreadMessages.sum(cell.unread_messages for cell in self.cells)


def in_words(results: RunResults) -> str:
    """Return a campaign's result in words, one line for each agent and scenario."""
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
