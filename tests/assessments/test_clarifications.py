"""What a participant is told in a turn beside ``turn_start``.

An answer that can't be read is asked for once more, and a question gets the answer that no one can answer.
"""

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import httpx
import pytest
from temporalio.exceptions import ApplicationError
from temporalio.testing import ActivityEnvironment
from temporalio.worker import ActivityInboundInterceptor, ExecuteActivityInput

from activities.attempts.heartbeats import Heartbeats
from activities.attempts.notes import ClarificationNote, MarkNote, Note, TaskNote
from activities.participant import Answer
from activities.participant import activities as participants
from proctor_protocol.results import Clarification
from proctor_protocol.updates import ActionObservedUpdate, ErrorOccurredUpdate
from proctor_settings.config import GreenAgentConfig
from tests.assessments.participants import DONE, WORDS, ByHand, Json, by_hand, data, message, task, text
from tests.stack import Stack, assess

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)
CUT_OFF = '{"message_type": "turn_complete", "actions": [{"action": "em'
ASKED_ONCE_MORE = "has JSON that ends too early"


def first(answer: Any, then: Any) -> Callable[[Json], Any]:
    """Answers ``turn_start`` in one way, and what comes after it in another."""
    return lambda said: answer if said["message_type"] == "turn_start" else then


async def test_an_answer_that_is_cut_off_is_asked_for_once_more(stack: Stack) -> None:
    async with by_hand(first(message(text(CUT_OFF)), message(data(DONE)))) as participant:
        assessed = await assess(stack, participant.url, "tiny", max_turns=1)
    assert assessed.state == "completed", assessed.sentence
    assert participant.kinds == ["assessment_start", "turn_start", WORDS, "assessment_complete"]
    assert ASKED_ONCE_MORE in participant.messages[2]["text"]
    assert "don't do it again" in participant.messages[2]["text"]
    assert len({sent["messageId"] for sent in participant.sent}) == 4
    assert assessed.results is not None
    [clarification] = assessed.results.clarifications
    assert (clarification.turn, clarification.kind) == (1, "unreadable")
    [update] = [each for each in assessed.updates if isinstance(each, ErrorOccurredUpdate)]
    assert (update.error_type, update.turn_number, update.recoverable) == ("AnswerUnreadable", 1, True)
    assert update.error_message == f"{clarification.problem} It was asked once more."


async def test_two_answers_that_cannot_be_read_end_the_assessment(stack: Stack) -> None:
    async with by_hand(first(message(text(CUT_OFF)), message(text("Done!")))) as participant:
        assessed = await assess(stack, participant.url, "tiny", max_turns=1)
    assert assessed.state == "failed"
    assert participant.kinds == ["assessment_start", "turn_start", WORDS, "assessment_complete"]
    assert 'has no message_type (it said "Done!")' in assessed.sentence
    assert assessed.sentence.endswith("It was asked once more.")


async def test_a_question_is_answered_once(stack: Stack) -> None:
    asks = task("input-required", text("Which account?"), task_id="the-turn")
    async with by_hand(first(asks, task("completed", data(DONE), task_id="the-turn"))) as participant:
        assessed = await assess(stack, participant.url, "tiny", max_turns=1)
    assert assessed.state == "completed", assessed.sentence
    assert participant.kinds == ["assessment_start", "turn_start", WORDS, "assessment_complete"]
    assert participant.messages[2]["text"].startswith("No one can answer questions")
    assert participant.sent[2]["taskId"] == "the-turn"
    assert assessed.results is not None
    assert assessed.results.clarifications == [Clarification(turn=1, kind="question", problem='"Which account?"')]
    [update] = [each for each in assessed.updates if isinstance(each, ErrorOccurredUpdate)]
    assert update.error_type == "ParticipantAsked"
    assert update.error_message == 'The participant asked: "Which account?" The reply was that no one can answer.'


async def test_one_that_only_asks_fails_and_the_sentence_says_so(stack: Stack) -> None:
    asks = task("input-required", text("Which account?"), task_id="the-turn")
    async with by_hand(lambda _said: asks) as participant:
        assessed = await assess(stack, participant.url, "tiny", max_turns=1)
    assert assessed.state == "failed"
    assert participant.kinds.count(WORDS) == 1
    assert 'The participant asked: "Which account?" The reply was that no one can answer.' in assessed.sentence


async def test_a_turn_that_ends_in_input_required_with_its_answer_is_taken(stack: Stack) -> None:
    async with by_hand(lambda _said: task("input-required", data(DONE))) as participant:
        assessed = await assess(stack, participant.url, "tiny", max_turns=1)
    assert assessed.state == "completed", assessed.sentence
    assert WORDS not in participant.kinds


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


async def test_actions_carry_the_turns_notes(stack: Stack) -> None:
    async def ask_ben(_said: Json) -> Json:
        start = participant.messages[0]
        async with httpx.AsyncClient(base_url=start["ues_url"], headers={"X-API-Key": start["api_key"]}) as ues:
            mail = {"to_addresses": ["ben@work.example"], "subject": "Lunch?", "body_text": "Thursday?"}
            await ues.post("email/send", json={"from_address": "ana@home.example", **mail})
        return message(data({**DONE, "notes": "Ben prefers Thursday. " * 20}))

    async with by_hand(ask_ben) as participant:
        assessed = await assess(stack, participant.url, "tiny", max_turns=1)
    [observed] = [each for each in assessed.updates if isinstance(each, ActionObservedUpdate)]
    assert observed.notes == ("Ben prefers Thursday. " * 20)[:200]


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
        speaker = participants.ParticipantActivities(GreenAgentConfig(), nothing, nothing)
        simulation: Any = SimpleNamespace(look=look, claimed_at=None, mark=MARK)
        try:
            async with speaker._clients.talk(self._url, "an assessment") as participant:
                return await speaker._play_to_the_end(participant, GIVEN, simulation)
        finally:
            await speaker.aclose()


async def take_up(participant: ByHand, *noted: Note) -> Answer:
    """What an attempt hears that finds these notes of those before it."""
    surroundings = ActivityEnvironment()
    details = [each.model_dump(mode="json") for each in (MarkNote(mark=MARK), *noted)]
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
    with pytest.raises(ApplicationError, match=ASKED_ONCE_MORE):
        answer.to_turn()
