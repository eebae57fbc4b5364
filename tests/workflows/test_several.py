"""Several participants play side by side: what one sends reaches the other, and one that fails ends alone."""

import asyncio
from datetime import timedelta
from typing import Any

import pytest
from temporalio.client import Client, WorkflowFailureError
from temporalio.exceptions import ApplicationError

from proctor.activities.admission.payloads import SO_FAR_QUERY, SoFar
from proctor.activities.attempts import failures
from proctor.activities.characters.messages import OutgoingMessage
from proctor.activities.participant.payloads import TurnAnswer, TurnInput
from proctor.activities.plan import CriterionBrief, Plan
from proctor.activities.simulation.payloads import AdvanceInput, ApplyInput, Sent, TurnApplied
from proctor.client.replay import reset, reset_points
from proctor.protocol.roles import name_of_role
from proctor.workflows import limits
from proctor.workflows.assessment import Assessment
from proctor.workflows.inputs import AssessmentInput
from purple_sdk.protocol.results import AssessmentResults
from tests.work import only_nightly
from tests.workflows.replaying import replayed
from tests.workflows.scripted import MORNING, NOWHERE, ScriptedActivities, plan

ROLES = ("guest", "host")


def together(task_id: str, task_queue: str) -> Plan:
    """A plan of two turns for a guest and a host, with a criterion each."""
    whole = plan(task_id, task_queue).model_copy(update={"offline": True})

    def of(role: str) -> Plan:
        name = name_of_role(task_id, role)
        criterion = CriterionBrief(
            criterion_id=f"{role}_all", name="All", dimension="accuracy", max_score=5, by_model=False
        )
        own = {"assessment_id": name, "simulation_id": name, "participant": role, "criteria": [criterion]}
        return whole.model_copy(update=own)

    roles = [of(role) for role in ROLES]
    return whole.model_copy(
        update={
            "roles": roles,
            "criteria": [criterion for role in roles for criterion in role.criteria],
            "participant": "both",
        }
    )


def mail(sender: str, minutes: int = 0) -> OutgoingMessage:
    at = MORNING + timedelta(minutes=minutes)
    return OutgoingMessage(modality="email", message_id=f"m-{sender}", sender=sender, body="Tuesday?", sent_at=at)


class Two(ScriptedActivities):
    """The scripted activities of an assessment with two participants, played on one queue."""

    def __init__(self, **changes: Any) -> None:
        super().__init__(**changes)
        self.replacements["admit"] = self._admit_two

    async def _admit_two(self, given: Any) -> Plan:
        whole = together(given.task_id, self.queue).model_copy(update=self.changes)
        return whole.model_copy(update={"roles": [role.model_copy(update=self.changes) for role in whole.roles]})

    async def play(self, client: Client, queue: str) -> AssessmentResults:
        self.queue = queue
        async with self.worker(client, queue):
            given = AssessmentInput(task_id=queue, context_id=queue, request={})
            return await client.execute_workflow(Assessment.run, given, id=queue, task_queue=queue)

    def of(self, name: str, role: str) -> list[Any]:
        """The inputs of a step for one role."""
        return [given for given in self.inputs[name] if given.plan.participant == role]


async def test_two_play_each_turn_and_have_scores_of_their_own(client: Client) -> None:
    activities = Two()
    results = await activities.play(client, "two-play")

    assert (results.status, results.turns_taken) == ("completed", 2)
    assert [result.criterion_id for result in results.criteria_results] == ["guest_all", "host_all"]
    assert results.scores.overall.score == 8
    assert [(role.role, role.scores.overall.score, role.turns_taken) for role in results.roles] == [
        ("guest", 4, 2),
        ("host", 4, 2),
    ]
    archived = {given.plan.assessment_id for given in activities.inputs["archive"]}
    assert archived == {"two-play", "two-play--guest", "two-play--host"}
    for step in ("set_up", "take_down"):
        assert len(activities.inputs[step]) == 2
    assert {given.plan.simulation_id for given in activities.inputs["purple_turn"]} == {
        "two-play--guest",
        "two-play--host",
    }


@only_nightly  # by default: test_story.py
async def test_a_long_one_continues_in_another_run(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "HISTORY_EVENTS", 60)
    activities = Two(max_turns=8, default_time_step="PT15M")
    results = await activities.play(client, "a-long-one")
    assert [(role.status, role.turns_taken) for role in results.roles] == [("completed", 8)] * 2
    assert len(activities.inputs["set_up"]) == 2
    assert await replayed(client, "a-long-one") >= 3


async def test_a_message_arrives_with_the_other_one_in_the_same_turn(client: Client) -> None:
    activities = Two()

    async def apply(given: ApplyInput) -> TurnApplied:
        is_first_guest = given.plan.participant == "guest" and given.turn == 1
        sent = [Sent(role="host", message=mail("guest@x"))] if is_first_guest else []
        return TurnApplied(checkpoint=NOWHERE, actions=[], messages=[], addressed=[], sent=sent)

    activities.replacements["apply"] = apply
    await activities.play(client, "a-message")

    host: list[AdvanceInput] = activities.of("advance", "host")
    assert [[message.sender for message in given.arrivals] for given in host] == [["guest@x"], []]
    assert not any(given.arrivals for given in activities.of("advance", "guest"))


async def test_a_reset_to_a_turn_takes_all_roles_back_to_it(client: Client) -> None:
    activities = Two()
    before = await activities.play(client, "two-reset")
    points = await reset_points(client, "two-reset")
    assert [point.name for point in points] == ["the start", "the greeting", "turn 1", "turn 2", "the judging"]
    activities.inputs.clear()
    async with activities.worker(client, "two-reset"):
        await reset(client, "two-reset", points[3])
        handle = client.get_workflow_handle("two-reset", result_type=AssessmentResults)
        after = await handle.result()

    played = [(given.plan.participant, given.turn) for given in activities.inputs["purple_turn"]]
    assert sorted(played) == [("guest", 2), ("host", 2)]
    assert not activities.inputs["set_up"]
    assert [(role.role, role.turns_taken, role.scores) for role in after.roles] == [
        (role.role, role.turns_taken, role.scores) for role in before.roles
    ]
    assert after.scores == before.scores


async def test_forks_can_ask_what_all_have_played_so_far(client: Client) -> None:
    activities, told = Two(), []

    async def purple_turn(given: TurnInput) -> None:
        if (given.plan.participant, given.turn) == ("guest", 2):
            asked = client.get_workflow_handle("so-far-of-two")
            told.append(await asked.query(SO_FAR_QUERY, result_type=SoFar))

    activities.replacements["purple_turn"] = purple_turn
    await activities.play(client, "so-far-of-two")
    (so_far,) = told
    assert [role.participant for role in so_far.plan.roles] == ["guest", "host"]
    assert [[note.turn for note in played.turns] for played in so_far.played] == [[0, 1], [0, 1]]


async def test_the_shortest_step_that_one_asks_for_holds_for_all(client: Client) -> None:
    activities = Two()

    async def purple_turn(given: TurnInput) -> TurnAnswer:
        step = "PT30M" if given.plan.participant == "host" else "PT2H"
        return TurnAnswer(checkpoint=NOWHERE, kind="turn_complete", time_step=step)

    activities.replacements["purple_turn"] = purple_turn
    await activities.play(client, "the-shortest")

    ends = {role: [given.to for given in activities.of("advance", role)] for role in ROLES}
    assert ends["guest"] == ends["host"] == [MORNING + timedelta(minutes=30), MORNING + timedelta(hours=1)]


async def test_one_that_is_finished_early_is_not_waited_for(client: Client) -> None:
    activities = Two()

    async def purple_turn(given: TurnInput) -> TurnAnswer | None:
        if given.plan.participant == "guest":
            return TurnAnswer(checkpoint=NOWHERE, kind="early_completion")
        return None

    activities.replacements["purple_turn"] = purple_turn
    results = await activities.play(client, "one-finished")

    assert [(role.role, role.turns_taken, role.completion_reason) for role in results.roles] == [
        ("guest", 1, "early_completion"),
        ("host", 2, "scenario_complete"),
    ]


@pytest.mark.parametrize("step", ["greet", pytest.param("purple_turn", marks=only_nightly)])
async def test_one_that_fails_ends_alone(client: Client, step: str) -> None:
    activities = Two()

    async def fail(given: Any) -> None:
        if given.plan.participant == "guest":
            raise ApplicationError("It broke.", type=failures.PARTICIPANT_MISBEHAVED, non_retryable=True)

    activities.replacements[step] = fail
    with pytest.raises(WorkflowFailureError) as caught:
        await activities.play(client, f"one-fails-{step}")

    cause = caught.value.cause
    assert isinstance(cause, ApplicationError)
    assert "guest: It broke." in cause.message
    results = AssessmentResults.model_validate(cause.details[0])
    guest, host = results.roles
    assert (guest.status, guest.failure, guest.scores.overall.max_score) == ("failed", "It broke.", 0)
    assert (host.status, host.turns_taken, host.scores.overall.score) == ("completed", 2, 4)
    assert results.scores.overall.max_score == 0, "a score on fewer points than others' would not compare"
    assert [given.plan.participant for given in activities.inputs["judge_criterion, local"]] == ["host"]
    assert len(activities.inputs["farewell"]) == 2
    assert {given.results.status for given in activities.inputs["archive"]} == {"failed", "completed"}


async def test_one_that_freezes_ends_alone_and_the_other_ones_day_ends(client: Client) -> None:
    """The host waits at the end of its first turn until the guest's time is over, and plays on from the planned end."""
    activities, host_has_played = Two(), asyncio.Event()

    async def purple_turn(given: TurnInput) -> None:
        if given.plan.participant == "host":
            host_has_played.set()
        else:
            await host_has_played.wait()
            raise ApplicationError("It took too long.", type=failures.TURN_TIMEOUT, non_retryable=True)

    activities.replacements["purple_turn"] = purple_turn
    with pytest.raises(WorkflowFailureError) as caught:
        await activities.play(client, "one-freezes")

    assert isinstance(caught.value.cause, ApplicationError)
    results = AssessmentResults.model_validate(caught.value.cause.details[0])
    guest, host = results.roles
    assert (results.status, results.failure_kind) == ("timeout", failures.TURN_TIMEOUT)
    assert (guest.status, guest.completion_reason, guest.failure) == ("timeout", "timeout", "It took too long.")
    assert (guest.turns_taken, guest.scores.overall.max_score) == (0, 0)
    assert (host.status, host.completion_reason, host.failure_kind) == ("completed", "scenario_complete", None)
    assert (host.turns_taken, host.scores.overall.score) == (2, 4)
    assert [given.to for given in activities.of("advance", "host")] == [
        MORNING + timedelta(hours=1),
        MORNING + timedelta(hours=2),
    ]
    archived = {given.plan.assessment_id: given.results.status for given in activities.inputs["archive"]}
    assert archived == {"one-freezes": "timeout", "one-freezes--guest": "timeout", "one-freezes--host": "completed"}
    assert {given.plan.participant for given in activities.inputs["farewell"]} == set(ROLES)
