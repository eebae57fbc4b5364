"""The assessments that forks continue, archived or running, with all data to continue from any turn."""

import asyncio

from temporalio import activity
from temporalio.client import WorkflowExecutionStatus, WorkflowQueryFailedError

from proctor.activities.admission.payloads import SO_FAR_QUERY, Inherited, SoFar, last_of_all
from proctor.activities.admission.queueing import find_task
from proctor.activities.archive.payloads import TurnNote
from proctor.activities.plan import TRIAL_WORKFLOW, Model, Plan
from proctor.activities.scenario_code.manager import ScenarioError
from proctor.activities.scenario_code.scenarios import Loaded, Scenarios
from proctor.activities.simulation.shared_host import is_of_this_simulator
from proctor.protocol.archive import ArchiveEntry, StateRecord, TurnRecord
from proctor.protocol.nights import last_turns
from proctor.settings.config import GreenAgentConfig
from proctor.storage.archive import SCENARIO, EntryDamagedError, NoSuchEntryError, SeveralEntriesError, open_archive
from proctor.storage.blobs import BlobDamagedError, BlobNotFoundError, BlobRef, BlobStore, blob_ref
from proctor.storage.parts import is_in_parts, parts_of_checkpoint
from purple_sdk.protocol.forks import ForkedFrom
from purple_sdk.protocol.instances import Instance
from purple_sdk.protocol.problems import show_value
from purple_sdk.protocol.request import AssessmentConfig, AssessmentRequest, BadRequestError
from purple_sdk.protocol.results import AssessmentResults

_LONGEST_CHAIN = 30
"""The longest chain of forks that fork each other. Results name each of them."""

_KINDS = {"trial": "a trial in a terminal", "campaign": "a campaign"}
_WORKFLOWS = {TRIAL_WORKFLOW: _KINDS["trial"], "Campaign": _KINDS["campaign"]}


class Part(Model):
    """One participant's part of an assessment. ``forked_from`` is its origin, if it is a fork."""

    task_id: str
    played: Inherited
    forked_from: ForkedFrom | None = None


class Origin(Model):
    """An assessment that can be forked. Its methods raise ``BadRequestError`` if a fork can't do what the request asks
    for.

    Attributes:
        task_id: its id.
        last: the last turn with which a fork can begin.
        parts: the turns that each participant has played, in the order of the scenario's roles.
        participants: the assessed participants.
        config: all settings that were in effect.
        package: its scenario's frozen files.
        instance: the family and day, if a family made the scenario.
        forked_from: its origin, if it is a fork itself.
    """

    task_id: str
    last: int
    parts: list[Part]
    participants: dict[str, str]
    config: AssessmentConfig
    package: BlobRef
    instance: Instance | None = None
    forked_from: ForkedFrom | None = None

    def at(self, turn: int) -> ForkedFrom:
        return ForkedFrom(task_id=self.task_id, turn=turn, forked_from=self.forked_from)

    def merged(self, asked: AssessmentRequest) -> AssessmentRequest:
        """Return a fork's complete request. Settings that ``asked`` leaves out are taken from the original."""
        chosen = {name: getattr(asked.config, name) for name in asked.config.model_fields_set}
        if chosen.pop("scenario_id", "") not in ("", self.config.scenario_id):
            raise BadRequestError(
                f"config.scenario_id is {asked.config.scenario_id}, and {self.task_id} was played on "
                f"{self.config.scenario_id}: leave it out, a fork plays its original's scenario"
            )
        if chosen.pop("difficulty", None) not in (None, self.config.difficulty):
            raise BadRequestError(
                f"config.difficulty is {asked.config.difficulty}, and {self.task_id} was played on "
                f"{self.instance.title if self.instance else 'a fixed scenario'}: leave it out, a fork plays its "
                "original's day"
            )
        config = self.config.model_copy(update={name: value for name, value in chosen.items() if value is not None})
        turn = self.first_turn(asked.config)
        self.require_turns_left(turn, config.max_turns or turn)
        return AssessmentRequest(participants=self.cast(asked.participants), config=config)

    def cast(self, asked: dict[str, str]) -> dict[str, str]:
        """Return the participants of a fork: the requested ones, or the original's if none are requested.

        In a scenario with roles, an agent that has a role's name plays that role. A single agent with another name
        plays all roles.
        """
        if len(self.parts) == 1:
            return asked or self.participants
        if len(asked) == 1 and not asked.keys() & self.participants.keys():
            return dict.fromkeys(self.participants, *asked.values())
        return {**self.participants, **asked}

    def first_turn(self, asked: AssessmentConfig) -> int:
        if asked.from_evening is None:
            return self.require_turns([asked.from_turn or 1], "config.from_turn")[0]
        notes = max((part.played.turns for part in self.parts), key=len)
        zone = notes[0].reached.tzinfo
        evenings = last_turns(((note.turn, note.began_at, note.reached) for note in notes[1:]), zone)
        evenings = [turn for turn in evenings if turn < self.last]
        if asked.from_evening > len(evenings):
            there_are = f"evenings 1 to {len(evenings)}" if evenings else "no evening: use config.from_turn"
            raise BadRequestError(
                f"config.from_evening is {asked.from_evening}: {self.task_id} can be forked from {there_are}"
            )
        return evenings[asked.from_evening - 1] + 1

    def require_turns(self, turns: list[int], name: str) -> list[int]:
        """Make sure that a fork can begin with each of these turns, and return them."""
        for turn in turns:
            if not 1 <= turn <= self.last:
                there_are = "turn 1" if self.last == 1 else f"turns 1 to {self.last}"
                raise BadRequestError(f"{name} is {turn}: {self.task_id} can be forked from {there_are}")
        return turns

    def require_turns_left(self, turn: int, max_turns: int) -> None:
        """Make sure that a fork may play at least its first turn."""
        if max_turns < turn:
            raise BadRequestError(
                f"config.max_turns is {max_turns}, which counts inherited turns, too, and turn {turn} is the first "
                "that the fork plays itself: give a higher config.max_turns"
            )


class Origins:
    """Finds assessments to fork, and never changes them.

    Methods raise ``BadRequestError`` if an assessment can't be forked. They also raise the errors of the archive, the
    store and Temporal.
    """

    def __init__(self, config: GreenAgentConfig, store: BlobStore, scenarios: Scenarios) -> None:
        self._has_own_servers = bool(config.ues_command)
        self._store = store
        self._scenarios = scenarios
        self._archive = open_archive(config)

    async def find(self, name: str) -> Origin:
        """Return the assessment with this id, or the only archived one whose id begins with this text."""
        if self._has_own_servers:
            raise BadRequestError(
                "config.fork_of: this evaluator plays each assessment on a UES server of its own "
                "(AGENTBEATS_GREEN_UES_COMMAND), and forks need the embedded simulator"
            )
        try:
            entry = await asyncio.to_thread(self._archive.find, name)
        except SeveralEntriesError:
            raise BadRequestError(f"config.fork_of is {show_value(name)}: several ids begin so; write more") from None
        except EntryDamagedError as error:
            raise BadRequestError(f"config.fork_of is {show_value(name)}: it can't be forked: {error}") from None
        except NoSuchEntryError:
            origin = await self._under_way(name)
        else:
            origin = await asyncio.to_thread(self._origin_of_entry, entry)
        if origin.forked_from and len(origin.forked_from.chain) >= _LONGEST_CHAIN:
            raise BadRequestError(
                f"{origin.task_id} is a fork of a fork {_LONGEST_CHAIN} times over: fork an earlier one"
            )
        return origin

    async def require_checkpoint(self, origin: Origin, turn: int) -> None:
        """Make sure that the simulation's checkpoint before a turn exists, and that the embedded simulator made it."""
        inherited = [part.played.before(turn).turns for part in origin.parts]
        for note, checkpoint in {(note.turn, note.checkpoint) for turns in inherited for note in (turns[0], turns[-1])}:
            try:
                content = await self._store.get(checkpoint)
                if is_in_parts(content):
                    await parts_of_checkpoint(self._store, content).require()
            except (BlobNotFoundError, BlobDamagedError) as error:
                raise BadRequestError(
                    f"{origin.task_id} can't be forked from turn {turn}: the checkpoint of its simulation "
                    f"{f'after turn {note}' if note else 'at the beginning'} {_how_lost(error)}"
                ) from None
            if not is_of_this_simulator(content):
                raise BadRequestError(
                    f"{origin.task_id} was played on a UES server of its own (AGENTBEATS_GREEN_UES_COMMAND), which "
                    "keeps no checkpoints that another simulation can begin with: it can't be forked"
                )

    async def load_package(self, origin: Origin) -> Loaded:
        """Load the frozen files of the original's scenario. If the store has lost them, load the scenario again and
        require equal files.
        """
        scenario_id, store = origin.config.scenario_id, self._store
        try:
            files = await store.get(origin.package)
        except (BlobNotFoundError, BlobDamagedError) as error:
            try:
                day = origin.instance
                loaded = await self._scenarios.load(
                    scenario_id, day.difficulty if day else None, day.seed if day else 0
                )
            except ScenarioError:
                loaded = None
            if loaded is None or blob_ref(loaded.files) != origin.package:
                raise BadRequestError(
                    f"{origin.task_id} can't be forked: the archive of the files of {scenario_id} as they were then "
                    f"{_how_lost(error)}; and today's are others"
                ) from None
            return loaded
        try:
            await store.put(files)  # protects the blob from pruning
            folder = await self._scenarios.unpack_frozen_code(scenario_id, origin.package)
            return Loaded(await self._scenarios.read_package(folder), files, origin.instance)
        except ScenarioError as error:
            raise BadRequestError(
                f"{origin.task_id} can't be forked: its scenario, as it was then, can't be played any more: {error}"
            ) from None

    def _origin_of_entry(self, entry: ArchiveEntry) -> Origin:
        if entry.kind != "assessment":
            raise _of_another_kind(entry.id, _KINDS.get(entry.kind, entry.kind))
        if entry.part_of:
            raise BadRequestError(
                f"{entry.id} can't be forked: it is one participant's part of an assessment. Fork {entry.part_of}"
            )
        if entry.package is None or SCENARIO not in entry.contents:
            raise BadRequestError(f"{entry.id} can't be forked: the proctor that archived it kept too little of it")
        try:
            scenario = self._archive.scenario(entry)
            results = self._archive.results(entry)
            parts = [self._part(role_entry) for role_entry in self._entries(entry, results)]
        except EntryDamagedError as error:
            raise BadRequestError(f"{entry.id} can't be forked: {error}") from None
        return Origin(
            task_id=entry.id,
            last=last_of_all([part.played for part in parts], scenario.end_time),
            parts=parts,
            participants={role.role: role.participant_url for role in results.roles}
            or {entry.role or results.participant: entry.participant_url},
            config=_config(entry),
            package=entry.package,
            instance=entry.instance,
            forked_from=entry.forked_from,
        )

    def _entries(self, entry: ArchiveEntry, results: AssessmentResults) -> list[ArchiveEntry]:
        """Return the entry of each participant. A single participant has the assessment's entry."""
        if not results.roles:
            return [entry]
        parts = {role.entry: self._archive.get(role.entry) for role in results.roles}
        if missing := [name for name, part in parts.items() if part is None]:
            raise BadRequestError(f"{entry.id} can't be forked: the archive doesn't have its part {missing[0]}")
        return [part for part in parts.values() if part is not None]

    def _part(self, entry: ArchiveEntry) -> Part:
        results, turns = self._archive.results(entry), self._archive.turns(entry)
        notes = _notes(self._archive.state_records(entry), turns)
        if not notes:
            raise _nothing_played(entry.id)
        last, report = notes[-1].turn, results.action_report
        played = Inherited(
            turns=notes,
            has_ended_early=any(turn.ends_early for turn in turns if turn.turn == last),
            has_reported_all=last
            in {action.turn for action in report.reported} | {action.turn for action in report.unreported},
            action_log=results.action_log,
            reported=report.reported,
            turn_notes={turn.turn: turn.notes for turn in turns if turn.notes},
            turn_tries=results.turn_tries,
        )
        return Part(task_id=entry.id, played=played, forked_from=entry.forked_from)

    async def _under_way(self, task_id: str) -> Origin:
        """Return an assessment that isn't archived, if it is running. Otherwise it can't be forked."""
        client = activity.client()
        if (description := await find_task(client, task_id)) is None:
            raise BadRequestError(
                f"config.fork_of is {show_value(task_id)}: there is no assessment of that id; `proctor list` shows "
                "those that there are"
            )
        if description.workflow_type != "Assessment":
            raise _of_another_kind(task_id, _WORKFLOWS.get(description.workflow_type, f"a {description.workflow_type}"))
        if description.status != WorkflowExecutionStatus.RUNNING:
            raise _nothing_played(task_id)
        try:
            so_far: SoFar = await client.get_workflow_handle(task_id).query(SO_FAR_QUERY, result_type=SoFar)
        except WorkflowQueryFailedError:
            raise _nothing_played(task_id) from None
        return _of_so_far(so_far)


def _of_so_far(so_far: SoFar) -> Origin:
    plan = so_far.plan
    players = plan.roles or [plan]
    return Origin(
        task_id=plan.assessment_id,
        last=last_of_all(so_far.played, plan.end_time),
        parts=[
            Part(task_id=player.assessment_id, played=played, forked_from=player.fork.origin if player.fork else None)
            for player, played in zip(players, so_far.played, strict=True)
        ],
        participants={player.participant: player.participant_url for player in players},
        config=_config(plan),
        package=plan.package,
        instance=plan.instance,
        forked_from=plan.fork.origin if plan.fork else None,
    )


def _config(origin: ArchiveEntry | Plan) -> AssessmentConfig:
    return AssessmentConfig(
        difficulty=origin.instance.difficulty if origin.instance else None,
        judges=origin.judges or None,
        scenario_id=origin.scenario_id,
        seed=origin.seed,
        clock=origin.clock,
        noise=origin.noise,
        offline=origin.offline,
        max_turns=origin.max_turns,
        turn_timeout=origin.turn_timeout,
        turn_tries=origin.turn_tries,
        votes=origin.votes,
    )


def _notes(states: list[StateRecord], turns: list[TurnRecord]) -> list[TurnNote]:
    by_turn = {turn.turn: turn for turn in turns}
    notes: list[TurnNote] = []
    for state in states:
        if state.turn != len(notes) or state.checkpoint is None or state.time is None:
            break
        played = by_turn.get(state.turn)
        notes.append(
            TurnNote(
                turn=state.turn,
                began_at=played.began_at if played and played.began_at else state.time,
                reached=state.time,
                checkpoint=state.checkpoint,
                replies=played.answers if played else [],
                events_processed=played.events_processed if played else 0,
                moves=played.moves if played else [],
                noise=played.noise if played else {},
            )
        )
    return notes


def _of_another_kind(task_id: str, kind: str) -> BadRequestError:
    return BadRequestError(f"{task_id} is {kind}: only an assessment of a scenario can be forked")


def _how_lost(problem: BlobNotFoundError | BlobDamagedError) -> str:
    if isinstance(problem, BlobDamagedError):
        return f"is damaged: {problem}"
    return "is not in the evaluator's store any more (`proctor prune` removes old ones)"


def _nothing_played(task_id: str) -> BadRequestError:
    return BadRequestError(
        f"{task_id} can't be forked: it was rejected, or has not begun, so that there is no turn to begin with"
    )
