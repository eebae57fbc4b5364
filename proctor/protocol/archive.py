"""The files of an archive entry: the permanent record of an assessment, a trial or a campaign.

They are readable for years without proctor. An entry is a folder ``DATE/ID.FENCE`` of an archive. Each entry has

* ``entry.json``: an ``ArchiveEntry``. It is written last; a folder without it isn't an entry.
* ``result.json``: the result, by its ``message_type``: ``AssessmentResults``, ``TrialResult``, ``RunResults`` (of a
  campaign of assessments) or ``TerminalResults`` (of a campaign of trials)
* ``updates.jsonl``: all task updates in order, one ``ArchivedUpdate`` a line

An assessment also has

* ``turns.jsonl``: new items, the participant's actions and texts, the characters' replies, one ``TurnRecord`` a line
* ``states.jsonl``: the state before the first turn and after each turn, one ``StateRecord`` a line
* ``trajectories/TURN.json``: the participant's transcript of a turn, if it sent one, in the Agent Trajectory
  Interchange Format (ATIF)

A trial in a terminal also has

* ``transcript.jsonl``: the traffic of the trial's command endpoint, one ``CommandRecord`` a line
* ``recording.cast``: the same traffic as a recording for asciinema (asciicast v2), if one was made
* ``logs/…``: the logs of agent, tests and services; long logs are cut in the middle

A campaign also has

* ``runs.jsonl``: the data of all its statistics, one ``Run`` (``purple_sdk.protocol.statistics``) a line

If an entry was judged again later, it has a file ``judgements/KEY.json`` for each way of judging. The file contains a
``Judgement``, or a ``Shift`` for a campaign (``proctor.protocol.judgements``).

The archive's folder ``contents`` has large content that many entries share, such as a scenario or its initial state.
The SHA-256 of its content names each file in this folder.
"""

import re
from collections.abc import Iterable, Iterator
from typing import Annotated, Any, Literal

from pydantic import AliasChoices, Field, JsonValue, TypeAdapter, field_validator

from proctor.protocol.campaigns import CampaignResults, Tally
from proctor.protocol.judgements import Judgement, Shift
from proctor.protocol.roles import get_task_id, is_of_role
from purple_sdk.protocol._wire import Instant, Int64, WireModel
from purple_sdk.protocol.clocks import STANDING, conditions_title
from purple_sdk.protocol.forks import ForkedFrom
from purple_sdk.protocol.instances import Instance, instance_title
from purple_sdk.protocol.results import (
    ActionLogEntryWithTurn,
    AssessmentResults,
    ReportedAction,
    ResultStatus,
    score_range,
)
from purple_sdk.protocol.statistics import Run, cost_in_words
from purple_sdk.protocol.terminal import TrialResult

FORMAT = 1
"""The version of the entry format. It rises when readers of the previous version would misread an entry."""

ENTRY, RESULT, UPDATES = "entry.json", "result.json", "updates.jsonl"
"""The files that every entry has."""
ENTRY_AT_MOST = 2**22
"""Bytes of ``entry.json``; the message of a longer one is left out."""

TURNS, STATES = "turns.jsonl", "states.jsonl"
"""The additional files of an assessment's entry."""

TRANSCRIPT, RECORDING, LOGS = "transcript.jsonl", "recording.cast", "logs/"
"""The additional files of a trial's entry; names of logs begin with ``logs/``."""

JUDGEMENT = "judgements/KEY.json"
"""The files with second judgements of an entry, written beside it later."""

RUNS = "runs.jsonl"
"""The additional file of a campaign's entry."""

Results = AssessmentResults | TrialResult | CampaignResults
"""The types of an entry's ``result.json``."""

_FILE_NAME = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9_.-]{0,199}(/[A-Za-z0-9_-][A-Za-z0-9_.-]{0,199}){0,3}")


TRAJECTORY = "trajectories/TURN.json"
"""The files with transcripts of turns, if an assessment's participant has sent any."""


def trajectory_file(turn: int) -> str:
    """Return the name of the file that holds a turn's transcript."""
    return TRAJECTORY.replace("TURN", str(turn))


Items = dict[str, JsonValue]
"""A state as a flat map: ``email/emails/ID`` to a mail, ``calendar/events/ID`` to an event, and so on."""

_DERIVED = frozenset({"modality_type", "last_updated", "update_count", "threads", "folders"})
"""The sections of a modality's state that follow from its other sections."""


_Count = Annotated[Int64, Field(ge=0)]
_Amount = Annotated[float, Field(ge=0, allow_inf_nan=False)]


class Content(WireModel):
    """The name of a content: its SHA-256 (hex) and its size in bytes."""

    sha256: str = Field(pattern=r"^[0-9a-f]{64}$")
    size: int = Field(ge=0)


OF_RESULT = "of the result"
"""The mark of summary fields that repeat the result's field of the same name."""

OF_MANY = "of many entries"
"""The mark of fields with the same value in many entries. Tables store such a value once."""


class EntrySummary(WireModel):
    """An entry's line in lists. The archive's index by day has one line for each entry.

    Attributes:
        kind: ``assessment``, ``trial`` (in a terminal) or ``campaign``.
        fence: the number of this writing of the entry. The highest fence counts; a reset makes a new, higher one.
        roles: the names of all participants, if there are several. Each of them also has its own entry with its turns
            and states; ``part_of`` is the id of the whole.
        campaign: the id of the entry's campaign.
        campaign_kind, tally: for a campaign, the kind and the counts of its assessments or trials.
        forked_from: the assessment and the turn from which a fork started.
        owner: the caller that the entry belongs to; empty if callers aren't authenticated.
        failed_by_participant: whether the participant caused a failure.
        sentence: a description of how the run ended.
        scenario_id, scenario_name, scenario_version: the scenario, a trial's task or a campaign's scenarios.
        family, difficulty, instance_seed: the family's day. A fork of the day may have another ``seed``.
        clock, noise: the conditions of play.
        role: the participant's name in the request.
        score, max_score, total_points: the points earned, judged and in all.
        doubtful_points: the additional points if every doubt were settled for the participant.
        earned: a trial's reward or a campaign's mean, 0 to 1; None for an assessment, which has points.
        is_partial: whether ``max_turns`` stopped the assessment with time left.
        judge_warnings: the warnings of the result.
    """

    format: Annotated[int, OF_MANY] = FORMAT
    kind: Annotated[str, OF_MANY] = "assessment"
    id: str
    fence: int = Field(default=0, ge=0)
    roles: list[str] = Field(default_factory=list, exclude_if=lambda roles: not roles)
    campaign: Annotated[str | None, OF_MANY] = None
    campaign_kind: Annotated[str | None, OF_MANY] = None
    tally: Tally | None = None
    forked_from: Annotated[ForkedFrom | None, OF_RESULT] = None
    owner: Annotated[str, OF_MANY] = ""
    status: Annotated[ResultStatus, OF_RESULT, OF_MANY]
    failed_by_participant: Annotated[bool, OF_MANY] = False
    sentence: str = ""
    scenario_id: Annotated[str, OF_RESULT, OF_MANY]
    scenario_name: Annotated[str, OF_MANY] = ""
    scenario_version: Annotated[str | None, OF_MANY] = None
    family: Annotated[str | None, OF_RESULT] = None
    difficulty: Annotated[Int64 | None, OF_RESULT] = None
    instance_seed: Annotated[Int64 | None, OF_RESULT] = None
    clock: Annotated[str, OF_RESULT] = STANDING
    noise: Annotated[Int64, OF_RESULT] = 0
    role: Annotated[str, OF_MANY] = ""
    participant: Annotated[str, OF_MANY] = ""
    participant_url: Annotated[str, OF_MANY] = ""
    participant_version: Annotated[str | None, OF_MANY] = None
    seed: Annotated[Int64 | None, OF_RESULT] = None
    offline: Annotated[bool, OF_RESULT, OF_MANY] = False
    score: _Count = 0
    max_score: Annotated[_Count, OF_MANY] = 0
    doubtful_points: _Count = 0
    total_points: Annotated[_Count, OF_RESULT, OF_MANY] = 0
    earned: _Amount | None = None
    turns_taken: Annotated[_Count, OF_RESULT] = 0
    expected_turns: Annotated[_Count | None, OF_MANY] = None
    max_turns: Annotated[_Count | None, OF_MANY] = None
    judges: Annotated[list[str], OF_MANY] = Field(default_factory=list)
    is_partial: Annotated[bool, OF_RESULT, OF_MANY] = False
    judge_warnings: Annotated[list[str], OF_RESULT] = Field(default_factory=list)
    actions_taken: Annotated[_Count, OF_RESULT] = 0
    seconds: float = 0.0
    cost: _Amount | None = None
    currency: Annotated[str | None, OF_MANY] = None
    started_at: Instant
    ended_at: Instant

    @classmethod
    def marked(cls, mark: str) -> tuple[str, ...]:
        """The names of the fields that have a mark, in order."""
        return tuple(name for name, field in cls.model_fields.items() if mark in field.metadata)

    @classmethod
    def pick_fields(cls, results: AssessmentResults) -> dict[str, Any]:
        """The values of the fields that repeat fields of the result (``OF_RESULT``)."""
        return {name: getattr(results, name) for name in cls.marked(OF_RESULT)}

    @property
    def instance(self) -> Instance | None:
        """The family's day that was played; None for a fixed scenario."""
        if self.family is None or self.difficulty is None or self.instance_seed is None:
            return None
        return Instance(family=self.family, difficulty=self.difficulty, seed=self.instance_seed)

    @property
    def part_of(self) -> str | None:
        """The id of the assessment that this participant's part belongs to; None for a whole assessment."""
        return get_task_id(self.id) if is_of_role(self.id) else None

    @property
    def day(self) -> str:
        """The title of the day: ``clear_the_day · difficulty 2 · seed 7``, or a fixed scenario's id."""
        day = instance_title(self.scenario_id, self.difficulty, self.instance_seed)
        return day + conditions_title(self.clock, self.noise)

    @property
    def agent(self) -> str:
        """The agent's name on pages and in commands: the name that a campaign gave it, else the name on its card."""
        return (self.campaign and self.role) or self.participant or self.participant_url

    @property
    def cost_text(self) -> str:
        """The cost in words, with its currency; empty if it is unknown."""
        known, plays = (self.tally.cost_known, self.tally.plays) if self.tally else (None, 1)
        text = cost_in_words(self.cost, known, plays)
        return f"{text} {self.currency or ''}".strip()

    @property
    def score_text(self) -> str:
        """The score in words, a range if there are doubts."""
        return score_range(self.score, self.doubtful_points)

    @property
    def share(self) -> float | None:
        """The score as a share of the judged points; None if nothing was judged."""
        if self.earned is not None:
            return self.earned
        return self.score / self.max_score if self.max_score else None


class ArchiveEntry(EntrySummary):
    """An entry: its summary, and the names of all its files.

    ``turn_timeout`` (seconds), ``turn_tries``, ``judges`` and ``votes`` are the settings of play and judging.
    ``package`` names the scenario's files in the evaluator's store, as they were frozen at admission. A fork is played
    with these files, and ``judge again`` judges with them. ``began_with`` is the hash of the UES scenario at the
    start; None in older entries.
    ``message`` is the A2A message that requested the assessment, as JSON. ``files`` are the entry's other files.
    ``contents`` are the files of the archive that it needs: ``scenario`` (the scenario as it was played) and
    ``initial_state`` (``Items`` before the first turn).
    """

    message_type: Literal["archive_entry"] = "archive_entry"
    run_id: str | None = None
    context_id: str = ""
    turn_timeout: float | None = None
    turn_tries: int | None = None
    votes: int = 1
    package: Content | None = None
    began_with: Content | None = None
    temporal_namespace: str | None = None
    message: dict[str, Any] = Field(default_factory=dict)
    files: dict[str, Content] = Field(default_factory=dict)
    contents: dict[str, Content] = Field(default_factory=dict)

    @field_validator("files")
    @classmethod
    def _names_stay_inside(cls, files: dict[str, Content]) -> dict[str, Content]:
        if outside := [name for name in files if not _FILE_NAME.fullmatch(name)]:
            raise ValueError(
                f"{outside[0][:200]!r} can't be the name of an entry's file: use letters, digits, _, -, . and / only, "
                "at most 200 between two /"
            )
        return files


class ArchivedUpdate(WireModel):
    """A task update (``proctor.protocol.updates``) with its number in its task, from 0, and the time of publication."""

    message_type: Literal["archived_update"] = "archived_update"
    sequence: int = Field(ge=0)
    recorded_at: Instant | None = None
    data: dict[str, Any]


class Arrival(WireModel):
    """An item that the participant could first see at the beginning of this turn.

    ``path`` names it in the state (``email/emails/ID``). ``what`` is a subject, a title or the first words.
    """

    path: str
    at: Instant | None = None
    who: str = ""
    what: str = ""


class ReplyRecord(WireModel):
    """A character's reply. It arrives at ``at``; ``to`` names the participant's message that it answers."""

    character_id: str
    modality: str
    at: Instant
    text: str
    subject: str | None = None
    response: str | None = None
    to: str = ""


class TurnRecord(WireModel):
    """A turn. Times are simulated, except ``started_at`` and ``ended_at``.

    ``tries`` counts how often it was played. ``arrived`` are the new items at its beginning. ``actions`` come from the
    simulation's own event log. ``reported`` are the actions that the participant reports, and ``notes`` its notes to
    the evaluator. ``troubles`` are sentences on problems during the turn. ``noise`` counts, by kind of noise, the
    requests that met it. ``moves`` is the cost of each request under a measured clock (simulated seconds).
    ``events_processed`` counts the events that happened while the clock moved at the turn's end. If a fork inherited
    the turn, ``inherited_from`` is the id of the assessment in which it was played.

    ``actions`` was called ``deeds`` before 0.2.0; archived files are read by either name.
    """

    message_type: Literal["turn_record"] = "turn_record"
    turn: int = Field(ge=1)
    began_at: Instant | None = None
    reached: Instant | None = None
    started_at: Instant | None = None
    ended_at: Instant | None = None
    tries: int = 1
    is_finished: bool = True
    ends_early: bool = False
    arrived: list[Arrival] = Field(default_factory=list)
    actions: list[ActionLogEntryWithTurn] = Field(
        default_factory=list, validation_alias=AliasChoices("actions", "deeds")
    )
    reported: list[ReportedAction] = Field(default_factory=list)
    notes: str | None = None
    answers: list[ReplyRecord] = Field(default_factory=list)
    troubles: list[str] = Field(default_factory=list)
    events_processed: int = 0
    moves: list[float] = Field(default_factory=list)
    noise: dict[str, int] = Field(default_factory=dict)
    inherited_from: str | None = None


class StateRecord(WireModel):
    """The state after a turn; ``turn`` 0 is the state before the first one.

    ``patch`` is a merge patch (RFC 7396) for the ``Items`` of the previous record. The first record's patch is for the
    entry's content ``initial_state``. ``checkpoint`` names the simulator's checkpoint in the evaluator's store, from
    which an assessment can continue; it may be pruned. If the state is missing, ``lacking`` says why, and the previous
    turn's state is shown instead.
    """

    message_type: Literal["state_record"] = "state_record"
    turn: int = Field(ge=0)
    time: Instant | None = None
    checkpoint: Content | None = None
    patch: dict[str, JsonValue] = Field(default_factory=dict)
    lacking: str | None = None


class CommandRecord(WireModel):
    """An action of a trial's agent, and its outcome.

    ``kind`` is ``command`` (with ``output`` and ``exit_code``), ``keys`` (typed in a terminal), ``screen`` (that
    terminal's content), or ``opened`` and ``closed`` for the trial's command endpoint. ``seconds`` is the duration of a
    command, ``dropped`` the number of bytes of its output that were not kept. For ``docker_exec``, the engine reports
    the start (``command``) and the end (``exit_code``) under the same ``id``, but no output.
    """

    message_type: Literal["command_record"] = "command_record"
    at: Instant | None = None
    kind: str
    id: str | None = None
    command: str = ""
    cwd: str | None = None
    background: bool = False
    exit_code: int | None = None
    output: str = ""
    dropped: int = 0
    seconds: float | None = None
    timed_out: bool = False
    killed: bool = False
    keys: list[str] = Field(default_factory=list)
    literal: bool = False
    session: str | None = None
    screen: str = ""


def flatten_states(states: dict[str, Any]) -> Items:
    """Flatten a simulator's states of all modalities to one map, without derived sections."""
    items: Items = {}
    for modality, state in states.items():
        if not isinstance(state, dict):
            continue
        for section, content in state.items():
            keyed = _keyed(content)
            if section in _DERIVED:
                continue
            if isinstance(keyed, dict):
                items.update({f"{modality}/{section}/{key}": _bare(item) for key, item in keyed.items()})
            else:
                items[f"{modality}/{section}"] = keyed
    return {path: item for path, item in items.items() if item is not None}


def _keyed(content: Any) -> Any:
    """Key a list of messages by their ids, like other items; return anything else unchanged."""
    if isinstance(content, list) and all(isinstance(item, dict) and "message_id" in item for item in content):
        return {str(item["message_id"]): item for item in content}
    return content


def rebuild_states(items: Items) -> dict[str, Any]:
    """Rebuild the states of all modalities from ``flatten_states``; derived sections stay missing."""
    states: dict[str, Any] = {}
    for path, item in items.items():
        modality, section, *key = path.split("/", 2)
        state = states.setdefault(modality, {})
        if key:
            state.setdefault(section, {})[key[0]] = item
        else:
            state[section] = item
    if "messages" in states.get("chat", {}):
        states["chat"]["messages"] = list(states["chat"]["messages"].values())
    return states


def _bare(item: Any) -> Any:
    """Remove nulls from an item: a merge patch can't express them."""
    if isinstance(item, dict):
        return {name: _bare(value) for name, value in item.items() if value is not None}
    return item


def merge_patch(before: Items, after: Items) -> dict[str, Any]:
    """Return the merge patch that turns ``before`` into ``after``."""
    patch: dict[str, Any] = dict.fromkeys(before.keys() - after.keys())
    for name, value in after.items():
        was = before.get(name)
        if was == value and (was is not None or name in before):
            continue
        is_nested = isinstance(was, dict) and isinstance(value, dict)
        patch[name] = merge_patch(was, value) if is_nested else value  # type: ignore[arg-type]
    return patch


def merged(before: Items, patch: dict[str, Any]) -> Items:
    """Apply a merge patch to a state; ``before`` stays unchanged."""
    after = dict(before)
    for name, value in patch.items():
        was = after.get(name)
        if value is None:
            after.pop(name, None)
        elif isinstance(value, dict):
            after[name] = merged(was if isinstance(was, dict) else {}, value)
        else:
            after[name] = value
    return after


def replay_states(initial: Items, records: Iterable[StateRecord]) -> Iterator[tuple[StateRecord, Items]]:
    """Yield every state of an entry, in order."""
    items = initial
    for record in records:
        items = merged(items, record.patch)
        yield record, items


def schemas() -> dict[str, dict[str, Any]]:
    """Return the JSON schema of each kind of file of an entry, by file name.

    The schema of a JSON Lines file describes one line.
    """
    kinds: dict[str, Any] = {
        ENTRY: ArchiveEntry,
        RESULT: Annotated[Results, Field(discriminator="message_type")],
        UPDATES: ArchivedUpdate,
        TURNS: TurnRecord,
        STATES: StateRecord,
        TRAJECTORY: dict[str, JsonValue],
        TRANSCRIPT: CommandRecord,
        RUNS: Run,
        JUDGEMENT: Annotated[Judgement | Shift, Field(discriminator="message_type")],
    }
    return {name: TypeAdapter(kind).json_schema(mode="serialization") for name, kind in kinds.items()}
