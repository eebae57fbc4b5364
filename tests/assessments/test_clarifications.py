"""What a participant is told in a turn beside ``turn_start``.

An answer that can't be read is asked for once more, and a question gets the answer that no one can answer.
"""

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import pytest
from temporalio.exceptions import ApplicationError
from temporalio.testing import ActivityEnvironment
from temporalio.worker import ActivityInboundInterceptor, ExecuteActivityInput

from proctor.activities.attempts.heartbeats import Heartbeats
from proctor.activities.attempts.notes import ClarificationNote, MarkNote, Note, TaskNote
from proctor.activities.participant import Answer, ParticipantClients
from proctor.activities.participant.dialogue import Dialogue
from proctor.activities.participant.turn_attempt import Attempt, Work
from proctor.protocol.updates import ErrorOccurredUpdate
from proctor.settings.config import GreenAgentConfig
from purple_sdk.protocol.results import Clarification
from tests.assessments.participants import DONE, WORDS, ByHand, Json, by_hand, data, message, task, text
from tests.sentences import says
from tests.stack import Stack, assess

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)
CUT_OFF = '{"message_type": "turn_complete", "actions": [{"action": "em'


def first(answer: Any, then: Any) -> Callable[[Json], Any]:
    """Answers ``turn_start`` in one way, and what comes after it in another."""
    return lambda said: answer if said["message_type"] == "turn_start" else then


async def test_what_cannot_be_read_is_asked_for_once_more_and_a_question_is_answered_once(stack: Stack) -> None:
    """An answer that is cut off, a question, and a turn that asks but has its answer, which is taken."""
    asks = task("input-required", text("Which account?"), task_id="the-turn")
    answers = [
        *(message(text(CUT_OFF)), message(data(DONE))),
        *(asks, task("completed", data(DONE), task_id="the-turn")),
        task("input-required", data(DONE)),
    ]
    async with by_hand(lambda _said: answers.pop(0)) as participant:
        assessed = await assess(stack, participant.url, "tiny", max_turns=3)
    assert assessed.state == "completed", assessed.sentence
    turns = ["turn_start", WORDS, "turn_start", WORDS, "turn_start"]
    assert participant.kinds == ["assessment_start", *turns, "assessment_complete"]
    assert len({sent["messageId"] for sent in participant.sent}) == 7
    assert says().within(participant.messages[2]["text"])
    assert says().within(participant.messages[4]["text"])
    assert participant.sent[4]["taskId"] == "the-turn"
    assert assessed.results is not None
    unreadable, question = assessed.results.clarifications
    assert (unreadable.turn, unreadable.kind) == (1, "unreadable")
    assert question == Clarification(turn=2, kind="question", problem='"Which account?"')
    told = [update for update in assessed.updates if isinstance(update, ErrorOccurredUpdate)]
    assert [(update.error_type, update.turn_number, update.recoverable) for update in told] == [
        ("AnswerUnreadable", 1, True),
        ("ParticipantAsked", 2, True),
    ]
    assert [update.error_message for update in told] == [
        says(problem=unreadable.problem),
        says("Which account?"),
    ]


async def test_two_answers_that_cannot_be_read_end_the_assessment(stack: Stack) -> None:
    async with by_hand(first(message(text(CUT_OFF)), message(text("Done!")))) as participant:
        assessed = await assess(stack, participant.url, "tiny", max_turns=1)
    assert assessed.state == "failed"
    assert participant.kinds == ["assessment_start", "turn_start", WORDS, "assessment_complete"]
    assert says("message_type", "Done!").within(assessed.sentence)
    assert says().within(assessed.sentence)


async def test_one_that_only_asks_fails_and_the_sentence_says_so(stack: Stack) -> None:
    asks = task("input-required", text("Which account?"), task_id="the-turn")
    async with by_hand(lambda _said: asks) as participant:
        assessed = await assess(stack, participant.url, "tiny", max_turns=1)
    assert assessed.state == "failed"
    assert participant.kinds.count(WORDS) == 1
    assert says("Which account?").within(assessed.sentence)


async def test_an_agent_that_fails_at_data_parts_gets_text_alone(stack: Stack) -> None:
    """As agents of pydantic-ai do behind ``fasta2a``."""

    def without_data(said: Json) -> Json:
        return message(data(DONE)) if has_text_alone(participant) else task("failed")

    async with by_hand(without_data, greeting=without_data) as participant:
        assessed = await assess(stack, participant.url, "tiny", max_turns=1)
    assert assessed.state == "completed", assessed.sentence
    assert participant.kinds[:2] == ["assessment_start", "assessment_start"]
    assert [len(sent["parts"]) for sent in participant.sent[:3]] == [2, 1, 1]
    assert assessed.results is not None
    assert assessed.results.turn_tries == {}


def has_text_alone(participant: ByHand) -> bool:
    return all(part["kind"] == "text" for part in participant.sent[-1]["parts"])


GIVEN: Any = SimpleNamespace(
    plan=SimpleNamespace(assessment_id="an assessment"), turn=1, current_time=NOON, events_processed=0, attempt=1
)
CLARIFICATION = Clarification(turn=1, kind="unreadable", problem="It was cut off.")


MARK = '{"step": "run turn 1 try 1", "fence": 1, "issue": 1}'


class Playing(ActivityInboundInterceptor):
    """An attempt that takes a turn up again, with no simulator and no Temporal."""

    def __init__(self, url: str) -> None:
        self._url = url

    async def execute_activity(self, input: Any) -> Answer:  # noqa: A002
        async def look() -> Any:
            return SimpleNamespace(is_untouched=False)

        nothing: Any = SimpleNamespace()
        simulation: Any = SimpleNamespace(look=look, claimed_at=None, mark=MARK)
        clients = ParticipantClients(GreenAgentConfig())
        try:
            async with clients.talk(self._url, "an assessment") as participant:
                taken_up = Attempt(nothing, Work(GIVEN.plan, nothing, "turn 1 try 1", 1, 1), simulation)
                return await Dialogue(participant, taken_up, nothing).play_try(GIVEN)
        finally:
            await clients.aclose()


async def take_up(participant: ByHand, *noted: Note) -> Answer:
    """What an attempt hears that finds these notes of those before it."""
    surroundings = ActivityEnvironment()
    details = [note.model_dump(mode="json") for note in (MarkNote(mark=MARK), *noted)]
    surroundings.info = replace(surroundings.info, attempt=2, heartbeat_details=details)
    given: Any = ExecuteActivityInput(fn=take_up, args=(), executor=None, headers={})
    playing = Heartbeats().intercept_activity(Playing(participant.url))
    answer: Answer = await surroundings.run(playing.execute_activity, given)
    return answer


async def test_an_attempt_after_a_kill_asks_with_the_same_message_or_not_at_all() -> None:
    noted = ClarificationNote(clarification=CLARIFICATION)

    def looked_at(params: Json) -> Json:
        said = text(CUT_OFF) if params["id"] == "task-a" else data(DONE)
        return task("completed", said, task_id=params["id"])

    async with by_hand(lambda _said: message(data(DONE)), looked_at=looked_at) as participant:
        before_it_was_noted = await take_up(participant, TaskNote(task_id="task-a"))
        before_it_was_answered = await take_up(participant, TaskNote(task_id="task-a"), noted)
        assert participant.kinds == [WORDS, WORDS]
        assert len({sent["messageId"] for sent in participant.sent}) == 1
        with_its_task = await take_up(participant, TaskNote(task_id="task-a"), noted, TaskNote(task_id="task-b"))
        assert participant.kinds == [WORDS, WORDS], "the task of the second message was under way: it is waited for"
    for answer in (before_it_was_noted, before_it_was_answered, with_its_task):
        assert answer.to_turn().message_type == "turn_complete"


async def test_a_second_attempt_does_not_ask_a_second_time() -> None:
    noted = ClarificationNote(clarification=CLARIFICATION)
    ends = task("completed", text(CUT_OFF))
    async with by_hand(lambda _said: ends, looked_at=lambda _params: ends) as participant:
        answer = await take_up(participant, TaskNote(task_id="task-a"), noted, TaskNote(task_id="task-b"))
    assert participant.messages == []
    with pytest.raises(ApplicationError, check=says()):
        answer.to_turn()
