"""What stays of an assessment, a trial or a campaign when it has ended: the files of its archive entry, readable for
years without us.

An entry is a folder ``DATE/ID.FENCE`` of an archive. Each has

* ``entry.json``: an ``ArchiveEntry``; written last, so that a folder without it isn't an entry
* ``result.json``: the result, by its ``message_type``: ``AssessmentResults``, ``TrialResult``, ``RunResults`` (of a
  campaign of assessments) or ``TerminalResults`` (of a campaign of trials)
* ``updates.jsonl``: an ``ArchivedUpdate`` a line, all task updates in order

An assessment has besides

* ``turns.jsonl``: a ``TurnRecord`` a line: what came in, what the participant did and wrote, who answers
* ``states.jsonl``: a ``StateRecord`` a line: mailbox, messages, calendar and chat before the first turn and after each
* ``trajectories/TURN.json``: the transcript of a turn in the Agent Trajectory Interchange Format (ATIF), where the
  participant has sent one: what it saw, decided and did

a trial in a terminal

* ``transcript.jsonl``: a ``CommandRecord`` a line: what passed through the trial's command endpoint
* ``recording.cast``: the same as a recording for asciinema (asciicast v2), where one was made
* ``logs/…``: the agent's, the tests' and the services' logs, long ones cut in the middle

and a campaign

* ``runs.jsonl``: a ``Run`` (``purple_sdk.protocol.statistics``) a line: the data of all its statistics

Any of them may have ``judgements/KEY.json`` besides: a ``Judgement``, of a campaign a ``Shift``, for each way in which
it was judged again later (``proctor.protocol.judgements``).

What is large and the same for many entries (a scenario, its initial state) lies in the archive's folder ``contents``,
each file named by the SHA-256 of its content.
"""

import re
from collections.abc import Iterable, Iterator
from typing import Annotated, Any, Literal

from pydantic import AliasChoices, Field, JsonValue, TypeAdapter, field_validator

from proctor.protocol.campaigns import CampaignResults, Tally
from proctor.protocol.judgements import Judgement, Shift
from proctor.protocol.roles import is_of_role, task_of
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
"""The version of an entry's form; it rises when a reader of the version before would misread it."""

ENTRY, RESULT, UPDATES = "entry.json", "result.json", "updates.jsonl"
"""The files that every entry has."""
ENTRY_AT_MOST = 2**22
"""Bytes of ``entry.json``; the message of a longer one is left out."""

TURNS, STATES = "turns.jsonl", "states.jsonl"
"""What an assessment's entry has besides."""

TRANSCRIPT, RECORDING, LOGS = "transcript.jsonl", "recording.cast", "logs/"
"""What a trial's entry has besides; names of logs begin with the last."""

JUDGEMENT = "judgements/KEY.json"
"""The files with second judgements of an entry, written beside it later."""

RUNS = "runs.jsonl"
"""What a campaign's entry has besides."""

Results = AssessmentResults | TrialResult | CampaignResults
"""What an entry's ``result.json`` may be."""

_FILE_NAME = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9_.-]{0,199}(/[A-Za-z0-9_-][A-Za-z0-9_.-]{0,199}){0,3}")


TRAJECTORY = "trajectories/TURN.json"
"""The files with transcripts of turns, where an assessment's participant has sent any."""


def trajectory_file(turn: int) -> str:
    """The name of the file that holds a turn's transcript."""
    return TRAJECTORY.replace("TURN", str(turn))


Items = dict[str, JsonValue]
"""A state as a flat map: ``email/emails/ID`` to a mail, ``calendar/events/ID`` to an event, and so on."""

_DERIVED = frozenset({"modality_type", "last_updated", "update_count", "threads", "folders"})
"""What of a modality's state follows from the rest of it."""


_Count = Annotated[Int64, Field(ge=0)]
_Amount = Annotated[float, Field(ge=0, allow_inf_nan=False)]


class Content(WireModel):
    """What names a content: the SHA-256 (hex) and the size in bytes."""

    sha256: str = Field(pattern=r"^[0-9a-f]{64}$")
    size: int = Field(ge=0)


class EntrySummary(WireModel):
    """What a list says of an entry; the archive's index by day has one for each.

    ``kind`` is what was archived: an ``assessment``, a ``trial`` in a terminal, a ``campaign`` of either, of which
    ``campaign_kind`` says of which and ``tally`` how many of what; a trial's task and a campaign's scenarios stand for
    the scenario. ``earned`` is a trial's reward and a campaign's mean, 0 to 1; points are an assessment's. ``fence``
    rises with every time that it is written: the entry with the highest one counts (a reset makes a new one).
    Of a family's day ``family``, ``difficulty`` and ``instance_seed`` say which one: a fork of it may have another
    ``seed``. ``clock`` and ``noise`` are the conditions that it was played under.
    ``owner`` is the caller that it belongs to, empty where callers aren't authenticated.
    ``campaign`` is the id of the campaign that it is of, ``forked_from`` the assessment and the turn that a fork began
    with. ``sentence`` says how it ended; ``failed_by_participant``, of one that failed, that its participant caused it.
    ``role`` is what the request calls the participant. Of several participants ``roles`` has all, and each of them has
    an entry besides, with its turns and states, whose ``part_of`` is the id of this one. ``score``, ``max_score``
    and ``total_points`` are points earned, judged and in all; ``doubtful_points`` those that it would have more without
    its doubts. ``is_partial``: it was stopped by ``max_turns`` with time left. ``judge_warnings`` are the result's.
    """

    format: int = FORMAT
    kind: str = "assessment"
    id: str
    fence: int = Field(default=0, ge=0)
    roles: list[str] = Field(default_factory=list, exclude_if=lambda roles: not roles)
    campaign: str | None = None
    campaign_kind: str | None = None
    tally: Tally | None = None
    forked_from: ForkedFrom | None = None
    owner: str = ""
    status: ResultStatus
    failed_by_participant: bool = False
    sentence: str = ""
    scenario_id: str
    scenario_name: str = ""
    scenario_version: str | None = None
    family: str | None = None
    difficulty: Int64 | None = None
    instance_seed: Int64 | None = None
    clock: str = STANDING
    noise: Int64 = 0
    role: str = ""
    participant: str = ""
    participant_url: str = ""
    participant_version: str | None = None
    seed: Int64 | None = None
    offline: bool = False
    score: _Count = 0
    max_score: _Count = 0
    doubtful_points: _Count = 0
    total_points: _Count = 0
    earned: _Amount | None = None
    turns_taken: _Count = 0
    expected_turns: _Count | None = None
    max_turns: _Count | None = None
    judges: list[str] = Field(default_factory=list)
    is_partial: bool = False
    judge_warnings: list[str] = Field(default_factory=list)
    actions_taken: _Count = 0
    seconds: float = 0.0
    cost: _Amount | None = None
    currency: str | None = None
    started_at: Instant
    ended_at: Instant

    @property
    def instance(self) -> Instance | None:
        """The family's day that was played; None where it was a fixed scenario."""
        if self.family is None or self.difficulty is None or self.instance_seed is None:
            return None
        return Instance(family=self.family, difficulty=self.difficulty, seed=self.instance_seed)

    @property
    def part_of(self) -> str | None:
        """The id of the assessment of which this is one participant's part; None for a whole one."""
        return task_of(self.id) if is_of_role(self.id) else None

    @property
    def day(self) -> str:
        """What people call what was played: ``clear_the_day · difficulty 2 · seed 7``, or a fixed scenario's id."""
        day = instance_title(self.scenario_id, self.difficulty, self.instance_seed)
        return day + conditions_title(self.clock, self.noise)

    @property
    def agent(self) -> str:
        """What pages and commands call the agent: the name that a campaign gave it, else that of its card."""
        return (self.campaign and self.role) or self.participant or self.participant_url

    @property
    def cost_text(self) -> str:
        """The cost in words, with its currency; empty where it is unknown."""
        known, plays = (self.tally.cost_known, self.tally.plays) if self.tally else (None, 1)
        text = cost_in_words(self.cost, known, plays)
        return f"{text} {self.currency or ''}".strip()

    @property
    def score_text(self) -> str:
        """The score in words, a range where there are doubts."""
        return score_range(self.score, self.doubtful_points)

    @property
    def share(self) -> float | None:
        """The score as a share of what was judged; None where nothing was."""
        if self.earned is not None:
            return self.earned
        return self.score / self.max_score if self.max_score else None


class ArchiveEntry(EntrySummary):
    """An entry: its summary, and the names of all the rest.

    ``turn_timeout`` (seconds), ``turn_tries``, ``judges`` and ``votes`` are what it was played and judged with;
    ``package`` names, in the
    evaluator's store, all files of the scenario as they were frozen at its admission: a fork is played with these, and
    ``judge again`` judges with them. ``began_with`` is the hash of the UES scenario that it began with; None in older
    entries.
    ``message`` is the A2A message that asked for it, as JSON. ``files`` are the entry's other files, ``contents`` what
    it needs of the archive's: ``scenario`` (the scenario as it was played) and ``initial_state`` (``Items`` before the
    first turn).
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
    """A task update (``proctor.protocol.updates``) with its place in its task, from 0, and when it was published."""

    message_type: Literal["archived_update"] = "archived_update"
    sequence: int = Field(ge=0)
    recorded_at: Instant | None = None
    data: dict[str, Any]


class Arrival(WireModel):
    """Something that was there for the participant to see at the beginning of a turn, and not before.

    ``path`` names it in the state (``email/emails/ID``). ``what`` is a subject, a title or the first words.
    """

    path: str
    at: Instant | None = None
    who: str = ""
    what: str = ""


class ReplyRecord(WireModel):
    """A character's reply, which arrives at ``at``; ``to`` names the participant's message that it answers."""

    character_id: str
    modality: str
    at: Instant
    text: str
    subject: str | None = None
    response: str | None = None
    to: str = ""


class TurnRecord(WireModel):
    """One turn. Times are simulated but for ``started_at`` and ``ended_at``.

    ``tries`` is how often it was played. ``arrived`` is new at its beginning. ``actions`` are of the simulation's own
    event log, ``reported`` is what the participant says that it did, ``notes`` what it left for the evaluator.
    ``troubles`` are sentences on what went wrong meanwhile. ``noise`` says how often its requests met each kind of
    noise, ``moves`` what each of them cost under a measured clock (simulated seconds). ``events_processed`` happened
    as the clock moved at its end. ``inherited_from`` is the id of the assessment in which a turn was played that a
    fork began with.

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
    """The state after a turn; ``turn`` 0 is the one before the first.

    ``patch`` is a merge patch (RFC 7396) for the ``Items`` of the record before it, those of the first record for the
    entry's content ``initial_state``. ``checkpoint`` names the simulator's checkpoint in the evaluator's store, from
    which an assessment can continue there; it may be pruned. ``lacking`` says why a state is not there: it is then
    shown as that of the turn before.
    """

    message_type: Literal["state_record"] = "state_record"
    turn: int = Field(ge=0)
    time: Instant | None = None
    checkpoint: Content | None = None
    patch: dict[str, JsonValue] = Field(default_factory=dict)
    lacking: str | None = None


class CommandRecord(WireModel):
    """Something that a trial's agent did, and what came of it.

    Through the trial's command endpoint: ``kind`` is ``command`` (with ``output`` and ``exit_code``), ``keys`` (typed
    in a terminal), ``screen`` (what that terminal showed), or ``opened`` and ``closed`` for the endpoint itself.
    ``seconds`` is how long a command took, ``dropped`` how many bytes of its output were not kept. Of ``docker_exec``
    the engine reports its start (``command``) and, under the same ``id``, its end (``exit_code``), but not its
    output.
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


def items_of(states: dict[str, Any]) -> Items:
    """The states of all modalities, as a simulator has them, as a flat map without what follows from the rest."""
    items: Items = {}
    for modality, state in states.items():
        if not isinstance(state, dict):
            continue
        for section, content in state.items():
            keyed = _keyed(content)
            if section in _DERIVED:
                continue
            if isinstance(keyed, dict):
                items.update({f"{modality}/{section}/{key}": _bare(each) for key, each in keyed.items()})
            else:
                items[f"{modality}/{section}"] = keyed
    return {path: item for path, item in items.items() if item is not None}


def _keyed(content: Any) -> Any:
    """Messages in a list by their ids, like other things; all else as it is."""
    if isinstance(content, list) and all(isinstance(each, dict) and "message_id" in each for each in content):
        return {str(each["message_id"]): each for each in content}
    return content


def states_from(items: Items) -> dict[str, Any]:
    """The states of all modalities that ``items_of`` has made a flat map of, without what it left out."""
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
    """An item without nulls, which a merge patch can't say."""
    if isinstance(item, dict):
        return {name: _bare(value) for name, value in item.items() if value is not None}
    return item


def merge_patch(before: Items, after: Items) -> dict[str, Any]:
    """The merge patch that makes ``after`` of ``before``."""
    patch: dict[str, Any] = dict.fromkeys(before.keys() - after.keys())
    for name, value in after.items():
        was = before.get(name)
        if was == value and (was is not None or name in before):
            continue
        is_nested = isinstance(was, dict) and isinstance(value, dict)
        patch[name] = merge_patch(was, value) if is_nested else value  # type: ignore[arg-type]
    return patch


def merged(before: Items, patch: dict[str, Any]) -> Items:
    """What a merge patch makes of a state; ``before`` stays as it is."""
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


def states_of(initial: Items, records: Iterable[StateRecord]) -> Iterator[tuple[StateRecord, Items]]:
    """Every state of an entry, in order."""
    items = initial
    for record in records:
        items = merged(items, record.patch)
        yield record, items


def schemas() -> dict[str, dict[str, Any]]:
    """The JSON schema of each kind of file of an entry, by the file's name; of JSON Lines, of one line."""
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
