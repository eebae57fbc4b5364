"""The story of an assessment, step by step: what comes after what, how often, until when; and that it replays."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any

import pytest
from a2a.client import Client as Caller
from temporalio.client import Client
from temporalio.exceptions import TimeoutError as ActivityTimeoutError
from temporalio.exceptions import TimeoutType

from proctor.activities.attempts import failures
from proctor.activities.characters.messages import CharacterReply, OutgoingMessage, Responded, RespondInput
from proctor.activities.participant.payloads import TurnAnswer
from proctor.activities.simulation.payloads import Addressee, Advanced, AdvanceInput, PlannedReply, TurnApplied
from proctor.settings.config import GreenAgentConfig
from proctor.storage.blobs import BlobRef, BlobStore
from proctor.workflows import limits
from purple_sdk.protocol.provenance import Drafts
from purple_sdk.protocol.results import ActionLogEntryWithTurn
from tests.sentences import says
from tests.waiting import eventually
from tests.work import NIGHTLY, only_nightly
from tests.workflows.asking import Over, played
from tests.workflows.replaying import replayed
from tests.workflows.scripted import MORNING, NOWHERE, ScriptedActivities, fails

TURN = ["purple_turn", "apply", "advance"]
END = ["conclude", "judge_criterion"]
SENTENCE = "I have lost my keys."


@asynccontextmanager
async def scripted(client: Client, config: GreenAgentConfig, **changes: Any) -> AsyncIterator[ScriptedActivities]:
    """A worker's activities, with a changed plan."""
    activities = ScriptedActivities(BlobStore(config.storage_url), **changes)
    async with activities.worker(client, config.task_queue):
        yield activities


def story(activities: ScriptedActivities) -> list[str]:
    """The steps from the set-up to the last verdict; what comes before, and after, has no order of its own."""
    around = {"admit", "join_queue", "is_running", "farewell", "take_down", "keep_results", "archive"}
    return [step for step in activities.calls if step not in around]


def turns_told(over: Over) -> list[int]:
    return [update["turn_number"] for update in over.updates if update["message_type"] == "update_turn_completed"]


async def test_the_steps_of_an_assessment(caller: Caller, client: Client, activities: ScriptedActivities) -> None:
    over = await played(caller, context="a desk with a story")
    assert over.state == "completed"
    assert sorted(activities.calls[:2]) == ["admit", "join_queue"]
    assert story(activities) == ["set_up", "greet", *TURN, *TURN, *END]
    assert sorted(activities.calls[-3:]) == ["archive", "farewell", "take_down"]
    (archived,) = activities.inputs["archive"]
    assert [note.turn for note in archived.turns] == [0, 1, 2]
    assert len(archived.updates) == len(over.updates)
    assert [given.reason for given in activities.inputs["farewell"]] == ["scenario_complete"]
    assert over.results is not None
    assert (over.results.scores.overall.score, over.results.turns_taken) == (4, 2)
    assert await replayed(client, over.task.id) == 1


async def test_every_step_starts_where_the_one_before_it_ended(caller: Caller, activities: ScriptedActivities) -> None:
    """Each step returns a checkpoint of its own, which the next one that changes the simulation gets."""

    def at(name: str) -> BlobRef:
        return BlobRef(sha256=name.encode().hex().ljust(64, "0"), size=1)

    async def play(given: Any) -> TurnAnswer:
        return TurnAnswer(checkpoint=at(f"played {given.turn}"), kind="turn_complete")

    async def apply(given: Any) -> TurnApplied:
        return TurnApplied(checkpoint=at(f"applied {given.turn}"), actions=[], messages=[], addressed=[])

    async def advance(given: AdvanceInput) -> Advanced:
        return Advanced(checkpoint=at(f"moved {given.turn}"), current_time=given.to, events_processed=0)

    async def greet(_given: Any) -> BlobRef:
        return at("greeted")

    activities.replacements = {"greet": greet, "purple_turn": play, "apply": apply, "advance": advance}
    await played(caller)
    assert [given.checkpoint for given in activities.inputs["purple_turn"]] == [at("greeted"), at("moved 1")]
    assert [given.checkpoint for given in activities.inputs["apply"]] == [at("played 1"), at("played 2")]
    assert [given.checkpoint for given in activities.inputs["advance"]] == [at("applied 1"), at("applied 2")]
    assert [given.checkpoint for given in activities.inputs["conclude"]] == [at("moved 2")]


async def test_time_advances_in_an_activity_of_its_own_in_every_turn(
    caller: Caller, activities: ScriptedActivities
) -> None:
    """The turn has settled already, as mostly, and its participant wrote to no character."""

    async def play(_given: Any) -> TurnAnswer:
        settled = TurnApplied(checkpoint=NOWHERE, actions=[], messages=[], addressed=[])
        return TurnAnswer(checkpoint=NOWHERE, kind="turn_complete", applied=settled)

    activities.replacements = {"purple_turn": play}
    await played(caller)
    assert story(activities) == ["set_up", "greet", *["purple_turn", "advance"] * 2, *END]
    first, second = activities.inputs["purple_turn"]
    assert second.current_time - first.current_time == timedelta(hours=1)


async def test_the_failure_of_an_answer_names_its_character(caller: Caller, activities: ScriptedActivities) -> None:
    message = OutgoingMessage(modality="email", message_id="m1", to=["a@x.example"], sent_at=MORNING)

    async def apply(_given: Any) -> TurnApplied:
        reached = [Addressee(message=0, character_id="ana")]
        return TurnApplied(checkpoint=NOWHERE, actions=[], messages=[message], addressed=reached)

    activities.replacements = {"apply": apply, "respond": fails("ModelUnavailableError", "model m is not available")}
    over = await played(caller)
    assert over.state == "failed"
    assert over.sentence == says()


async def test_characters_answer_between_the_turn_and_its_time(caller: Caller, activities: ScriptedActivities) -> None:
    """Those who say something, in the order of the messages; nobody else."""
    message = OutgoingMessage(modality="email", message_id="m1", to=["a@x.example"], sent_at=MORNING)
    people = ("ana", "ben", "cleo")

    async def apply(given: Any) -> TurnApplied:
        reached = [Addressee(message=0, character_id=who) for who in people] if given.turn == 1 else []
        return TurnApplied(checkpoint=NOWHERE, actions=[], messages=[message], addressed=reached)

    def reply(who: str) -> CharacterReply:
        return CharacterReply(character_id=who, modality="email", text=f"I am {who}.", delay_seconds=60)

    async def respond(given: RespondInput) -> Responded:
        drafts = Drafts(written=2, refused=1)
        return Responded(reply=None if given.character_id == "ben" else reply(given.character_id), drafts=drafts)

    activities.replacements = {"apply": apply, "respond": respond}
    over = await played(caller)
    assert over.results is not None
    assert over.results.provenance is not None
    assert over.results.provenance.drafts == Drafts(written=6, refused=3)
    assert story(activities) == ["set_up", "greet", "purple_turn", "apply", *["respond"] * 3, "advance", *TURN, *END]
    first, second = activities.inputs["advance"]
    assert first.replies == [PlannedReply(reply=reply(who), message=message) for who in ("ana", "cleo")]
    assert second.replies == []
    told = [update for update in over.updates if update["message_type"] == "update_responses_generated"]
    assert [(update["responses_count"], update["characters_involved"]) for update in told] == [
        (2, ["ana", "cleo"]),
        (0, []),
    ]


async def test_who_leaves_early_is_judged_at_once(
    caller: Caller, client: Client, activities: ScriptedActivities
) -> None:
    async def leave(_given: Any) -> TurnAnswer:
        return TurnAnswer(checkpoint=NOWHERE, kind="early_completion")

    activities.replacements["purple_turn"] = leave
    over = await played(caller)
    assert story(activities) == ["set_up", "greet", "purple_turn", "apply", *END]
    assert over.results is not None
    assert (over.results.turns_taken, over.results.completion_reason) == (1, "early_completion")
    assert [given.reason for given in activities.inputs["farewell"]] == ["early_completion"]
    assert await replayed(client, over.task.id) == 1


@pytest.mark.parametrize(
    ("steps", "changes", "moves"),
    [
        pytest.param(["PT1H", "PT1H"], {}, [60, 120], marks=only_nightly),
        pytest.param(["PT5M", "PT2H30M"], {}, [5, 120], marks=only_nightly),
        pytest.param([None, None], {}, [60, 120], marks=only_nightly),
        (["PT15M", None, "PT7H"], {"default_time_step": "PT30M", "max_turns": 9}, [15, 45, 120]),
        pytest.param([None], {"max_turns": 1}, [60], marks=only_nightly),
    ],
    ids=["by the hour", "over the end", "the scenario's own step", "as it comes", "one turn"],
)
async def test_the_clock_moves_by_the_participant_s_step_until_the_end(
    caller: Caller,
    client: Client,
    config: GreenAgentConfig,
    steps: list[str | None],
    changes: dict[str, Any],
    moves: list[int],
) -> None:
    async def play(given: Any) -> TurnAnswer:
        return TurnAnswer(checkpoint=NOWHERE, kind="turn_complete", time_step=steps[given.turn - 1])

    async with scripted(client, config, **changes) as activities:
        activities.replacements["purple_turn"] = play
        over = await played(caller)
        assert [given.to - MORNING for given in activities.inputs["advance"]] == [timedelta(minutes=n) for n in moves]
    assert over.results is not None
    assert (over.results.turns_taken, over.results.completion_reason) == (len(moves), "scenario_complete")


async def test_a_turn_that_failed_is_played_again_from_its_start(
    caller: Caller, client: Client, config: GreenAgentConfig
) -> None:
    async def fail_twice(given: Any) -> None:
        if given.turn == 2 and given.attempt <= 2:
            raise failures.PARTICIPANT_FAILED.final(SENTENCE)

    async with scripted(client, config, turn_tries=3) as activities:
        activities.replacements["purple_turn"] = fail_twice
        over = await played(caller)
        assert story(activities) == ["set_up", "greet", *TURN, *["purple_turn"] * 2, *TURN, *END]
        tries = activities.inputs["purple_turn"][1:]
        assert [(given.turn, given.attempt) for given in tries] == [(2, 1), (2, 2), (2, 3)]
        assert len({given.checkpoint.sha256 for given in tries}) == 1
        assert await replayed(client, over.task.id) == 1
    assert over.results is not None
    assert (over.results.status, over.results.turn_tries) == ("completed", {"2": 3})
    told = [(found["error_message"], found["recoverable"], found["turn_number"]) for found in over.problems]
    assert told == [(SENTENCE, True, 2)] * 2
    assert turns_told(over) == [1, 2]


@pytest.mark.parametrize(
    ("kind", "tries", "played_times", "status"),
    [
        pytest.param(failures.PARTICIPANT_FAILED, 3, 3, "failed", marks=only_nightly),
        (failures.TURN_TIMEOUT, 2, 2, "timeout"),
        (failures.PARTICIPANT_MISBEHAVED, 3, 1, "failed"),
        pytest.param(failures.PARTICIPANT_UNREACHABLE, 3, 1, "failed", marks=only_nightly),
        (failures.SIMULATION_LOST, 1, 4, "failed"),
    ],
)
async def test_how_often_a_turn_is_tried(
    caller: Caller,
    client: Client,
    config: GreenAgentConfig,
    monkeypatch: pytest.MonkeyPatch,
    kind: str,
    tries: int,
    played_times: int,
    status: str,
) -> None:
    """The participant's own failures count against its tries; a lost simulation doesn't; some things never help."""
    monkeypatch.setattr(limits, "TURN_LOSSES", 3)
    async with scripted(client, config, turn_tries=tries) as activities:
        activities.replacements["purple_turn"] = fails(kind, SENTENCE)
        over = await played(caller)
        assert activities.calls.count("purple_turn") == played_times
        assert await replayed(client, over.task.id) == 1
    assert (over.state, over.sentence) == ("failed", SENTENCE)
    assert over.results is not None
    assert (over.results.status, over.results.turns_taken) == (status, 0)
    assert {criterion.unscored_reason for criterion in over.results.criteria_results} == {SENTENCE}
    assert [found["recoverable"] for found in over.problems] == [True] * (played_times - 1) + [False]


@pytest.mark.parametrize(("step", "tries"), [pytest.param("greet", {}, marks=only_nightly), ("purple_turn", {"1": 2})])
async def test_lost_workers_are_no_failure_of_the_participant(
    caller: Caller,
    client: Client,
    activities: ScriptedActivities,
    monkeypatch: pytest.MonkeyPatch,
    step: str,
    tries: Any,
) -> None:
    """Attempts that end in silence (Temporal's heartbeat timeout, as written by it) cost none of its tries."""
    monkeypatch.setattr(limits._PARTICIPANT, "initial_interval", timedelta(milliseconds=1))
    monkeypatch.setattr(limits._PARTICIPANT, "maximum_interval", timedelta(milliseconds=1))
    monkeypatch.setattr(limits._PARTICIPANT, "maximum_attempts", 3)
    monkeypatch.setattr(limits, "_WAITING", timedelta(seconds=1))  # Temporal waits for a missed heartbeat all the same

    async def be_silent(_: object) -> None:
        if activities.calls.count(step) <= limits._PARTICIPANT.maximum_attempts:
            raise ActivityTimeoutError("silence", type=TimeoutType.HEARTBEAT, last_heartbeat_details=[])

    activities.replacements[step] = be_silent
    over = await played(caller)
    assert over.state == "completed", over.sentence
    assert over.results is not None
    assert over.results.turn_tries == tries
    said = [found["error_message"] for found in over.problems if found["error_type"] == failures.WORKERS_LOST]
    place = "the start message" if step == "greet" else "turn 1"
    assert said == [says(place=place)]
    assert await replayed(client, over.task.id) == 1


async def test_what_may_pass_is_tried_again_and_not_for_ever(
    caller: Caller, client: Client, activities: ScriptedActivities, monkeypatch: pytest.MonkeyPatch
) -> None:
    """How often, step by step; the pauses are those of ``limits``, only shorter here."""
    for name in ("_PATIENT", "_PARTICIPANT", "_MODELS"):
        policy = getattr(limits, name)
        for field in ("initial_interval", "maximum_interval"):
            monkeypatch.setattr(policy, field, timedelta(milliseconds=1))
    policies = {"set_up": limits._PATIENT, "purple_turn": limits._PARTICIPANT, "judge_criterion": limits._MODELS}
    expected = {step: policy.maximum_attempts for step, policy in policies.items()}
    assert expected == {"set_up": 12, "purple_turn": 8, "judge_criterion": 13}
    if NIGHTLY:
        expected |= {"greet": 8, "apply": 12, "conclude": 12}
    for step, attempts in expected.items():
        activities.replacements[step] = fails("Passing", SENTENCE, times=attempts - 1)
    if not NIGHTLY:  # one play for both: its last step fails at each attempt
        activities.replacements["judge_criterion"] = fails("Passing", SENTENCE, times=expected["judge_criterion"])
    over = await played(caller)
    assert over.state == ("completed" if NIGHTLY else "failed"), over.sentence
    each_turn = ("purple_turn", "apply")
    assert {step: activities.calls.count(step) // (2 if step in each_turn else 1) for step in expected} == expected
    assert await replayed(client, over.task.id) == 1
    for step, attempts in expected.items() if NIGHTLY else []:
        activities.calls.clear()
        activities.replacements = {step: fails("Passing", SENTENCE, times=attempts)}
        over = await played(caller)
        assert (step, over.state, activities.calls.count(step)) == (step, "failed", attempts)


async def test_at_the_deadline_all_that_was_done_is_kept(
    caller: Caller, client: Client, config: GreenAgentConfig
) -> None:
    """Turn 2 hangs; the deadline is far enough for scripted steps on any machine."""
    ended: list[str] = []

    async def hang(given: Any) -> None:
        if given.turn == 2:
            try:
                await asyncio.Event().wait()
            finally:
                ended.append("called off")

    async def apply(given: Any) -> TurnApplied:
        did = ActionLogEntryWithTurn(
            turn=given.turn, timestamp=given.turn_start, action="email.send", parameters={}, success=True
        )
        return TurnApplied(checkpoint=NOWHERE, actions=[did], messages=[], addressed=[])

    async with scripted(client, config, assessment_timeout=8.0) as activities:
        activities.replacements = {"purple_turn": hang, "apply": apply}
        over = await played(caller)
        await eventually(lambda: ended)
        assert await replayed(client, over.task.id) == 1
        assert {"farewell", "take_down"} <= set(activities.calls)
        assert [given.reason for given in activities.inputs["farewell"]] == ["timeout"]
    assert over.state == "failed"
    assert over.sentence == says()
    results = over.results
    assert results is not None
    assert (results.status, results.completion_reason, results.turns_taken) == ("timeout", "timeout", 1)
    assert [entry.turn for entry in results.action_log] == [1]
    assert {criterion.unscored_reason for criterion in results.criteria_results} == {over.sentence}


async def test_a_long_story_goes_on_in_another_run_and_is_one_story(
    caller: Caller, client: Client, config: GreenAgentConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "HISTORY_EVENTS", 30)
    async with scripted(client, config, max_turns=4, default_time_step="PT5M") as activities:
        over = await played(caller, context="a long desk")
        assert story(activities) == ["set_up", "greet", *TURN * 4, *END]
        assert [given.turn for given in activities.inputs["purple_turn"]] == list(range(1, 5))
        assert activities.calls.count("admit") == activities.calls.count("join_queue") == 1
        assert await replayed(client, over.task.id) >= 2
    assert over.results is not None
    assert (over.state, over.results.turns_taken) == ("completed", 4)
    assert turns_told(over) == list(range(1, 5))


async def test_an_archive_that_can_not_be_written_keeps_no_assessment_from_ending(
    caller: Caller, client: Client, activities: ScriptedActivities
) -> None:
    activities.replacements["archive"] = fails("Full", "There is no room.")
    over = await played(caller)
    assert over.state == "completed"
    assert over.results is not None
    assert await replayed(client, over.task.id) == 1
