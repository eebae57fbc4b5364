"""A real agent in its own process, called with a2a-sdk 1.x."""

import asyncio
import json
import uuid
from pathlib import Path

import pytest

from tests.purple_sdk.evaluator import COMPLETE, Evaluator, Heard, start, turn
from tests.sentences import says
from tests.waiting import PATIENCE, eventually
from tests.work import NIGHTLY

MANY = 20 if NIGHTLY else 8


async def begun(evaluator: Evaluator, **plan: object) -> None:
    assert (await evaluator.say(start(plan))).state == "completed"


async def first_sign(seen: Heard) -> None:
    await asyncio.wait_for(seen.working.wait(), PATIENCE)


async def playing_now(url: str) -> int:
    """How many turns the process plays, apart from the one that asks."""
    async with Evaluator(url) as other:
        await begun(other)
        return int((await other.say(turn(1))).notes["playing"]) - 1


async def test_an_assessment_from_start_to_end(evaluator: Evaluator) -> None:
    await begun(evaluator)
    heard = await evaluator.say(turn(1))
    assert heard.states[0] == "submitted"
    assert heard.state == "completed"
    assert heard.answer is not None
    assert heard.answer["message_type"] == "turn_complete"
    assert json.loads(heard.answer_text or "") == heard.answer
    assert (await evaluator.say(turn(2))).notes["turns"] == ["1.1", "2.1"]
    assert (await evaluator.say(COMPLETE)).state == "completed"
    after = await evaluator.say(turn(3))
    assert after.state == "rejected"
    assert "send assessment_start first" in after.sentence


@pytest.mark.parametrize("bindings", [["JSONRPC"], ["HTTP+JSON"]])
@pytest.mark.parametrize("streaming", [True, False])
@pytest.mark.parametrize("as_text", [True, False])
async def test_every_way_to_say_it(
    probe: tuple[str, object], bindings: list[str], streaming: bool, as_text: bool
) -> None:
    async with Evaluator(probe[0], bindings, streaming) as evaluator:
        assert (await evaluator.say(start({"early": 2}), as_text=as_text)).state == "completed"
        first, second = [await evaluator.say(turn(number), as_text=as_text) for number in (1, 2)]
        assert first.notes["turns"] == ["1.1"]
        assert second.answer == {"message_type": "early_completion", "reason": "all done", "actions": []}


async def test_a_repeated_message_gets_the_finished_answer(evaluator: Evaluator) -> None:
    await begun(evaluator)
    first = await evaluator.say(turn(1), message_id="turn-1-try-1")
    again = await evaluator.say(turn(1), message_id="turn-1-try-1")
    assert again.answer == first.answer
    assert again.task_id != first.task_id
    assert (await evaluator.say(turn(2))).notes["turns"] == ["1.1", "2.1"]


async def test_a_repeated_start_keeps_the_agent_and_a_new_one_begins_anew(evaluator: Evaluator) -> None:
    await evaluator.say(start(), message_id="start")
    await evaluator.say(turn(1))
    await evaluator.say(start(), message_id="start")
    assert (await evaluator.say(turn(2))).notes["turns"] == ["1.1", "2.1"]
    await evaluator.say(start(), message_id="another start")
    assert (await evaluator.say(turn(1, attempt=2))).notes["turns"] == ["1.2"]


async def test_a_greeting_in_mid_assessment_keeps_the_agent(evaluator: Evaluator) -> None:
    await evaluator.say(start(), message_id="start")
    await evaluator.say(turn(1))
    later = {"current_time": "2026-03-02T09:00:00+00:00"}
    await evaluator.say(start() | later, message_id="greeting")
    assert (await evaluator.say(turn(2))).notes["turns"] == ["1.1", "2.1"]
    await evaluator.say(start(api_key="of another simulation") | later, message_id="another greeting")
    assert (await evaluator.say(turn(1))).notes["turns"] == ["1.1"]


async def test_greeted_again_with_a_new_key_it_goes_on_with_what_it_remembers(evaluator: Evaluator) -> None:
    await evaluator.say(start(), message_id="start")
    for number in (1, 2, 3):
        await evaluator.say(turn(number))
    greeting = start(api_key="a new key") | {"resumes_turn": 2}
    assert (await evaluator.say(greeting)).state == "completed"
    assert (await evaluator.say(turn(2, attempt=2))).notes["turns"] == ["1.1", "2.2"]


async def test_a_greeting_with_a_new_key_stops_the_turn_that_runs(evaluator: Evaluator) -> None:
    await begun(evaluator, slow={"1.1": 3600})
    old = Heard()
    playing = asyncio.create_task(evaluator.say(turn(1), seen=old))
    await old.working.wait()
    await evaluator.say(start(api_key="a new key") | {"resumes_turn": 1})
    assert (await playing).state == "canceled"
    assert old.sentence == says()


async def test_nobody_from_the_past_is_listened_to(evaluator: Evaluator) -> None:
    await evaluator.say(start(), metadata={"proctor_fence": "100"})
    await evaluator.say(turn(1), message_id="one", metadata={"proctor_fence": "200"})
    for message in (turn(2), start() | {"resumes_turn": 1}, COMPLETE):
        late = await evaluator.say(message, metadata={"proctor_fence": "199"})
        assert late.state == "rejected"
        assert says().within(late.sentence)
    again = await evaluator.say(turn(1), message_id="one", metadata={"proctor_fence": "200"})
    assert again.notes["turns"] == ["1.1"]
    assert (await evaluator.say(turn(2))).notes["turns"] == ["1.1", "2.1"]  # evaluators elsewhere know no fences


async def test_a_repeated_message_joins_the_running_turn(evaluator: Evaluator) -> None:
    await begun(evaluator, slow={"1.1": 0.6})
    first, second = await asyncio.gather(
        evaluator.say(turn(1), message_id="same"), evaluator.say(turn(1), message_id="same")
    )
    assert first.answer == second.answer
    assert first.notes["turns"] == ["1.1"]


async def test_a_long_turn_shows_signs_of_life(evaluator: Evaluator, tmp_path: Path) -> None:
    await begun(evaluator, held=1, gate=str(tmp_path / "gate"))
    heard = Heard()
    playing = asyncio.create_task(evaluator.say(turn(1), seen=heard))
    await eventually(lambda: heard.states.count("working") >= 3)
    assert "still playing turn 1, try 1" in heard.sentences
    (tmp_path / "gate").touch()
    assert (await playing).state == "completed"


async def test_a_new_try_starts_clean(evaluator: Evaluator) -> None:
    await begun(evaluator, failing_tries={"2": 2})
    await evaluator.say(turn(1))
    failed = await evaluator.say(turn(2))
    assert failed.state == "failed"
    assert failed.sentence == says()
    assert (await evaluator.say(turn(2, attempt=2))).state == "failed"
    assert (await evaluator.say(turn(2, attempt=3))).notes["turns"] == ["1.1", "2.3"]


async def test_going_back_to_an_earlier_turn_brings_its_state_back(evaluator: Evaluator) -> None:
    await begun(evaluator)
    for number in (1, 2, 3):
        await evaluator.say(turn(number))
    assert (await evaluator.say(turn(2, attempt=2))).notes["turns"] == ["1.1", "2.2"]
    assert (await evaluator.say(turn(3, attempt=2))).notes["turns"] == ["1.1", "2.2", "3.2"]


async def test_a_new_try_stops_the_one_that_runs(probe: tuple[str, object], evaluator: Evaluator) -> None:
    await begun(evaluator, slow={"1.1": 3600})
    old = Heard()
    waiting = asyncio.create_task(evaluator.say(turn(1), seen=old))
    await first_sign(old)
    new = await evaluator.say(turn(1, attempt=2))
    assert new.notes["turns"] == ["1.2"]
    await waiting
    assert old.state == "canceled"
    assert old.sentence == says()
    assert await playing_now(probe[0]) == 0


async def test_cancel_stops_the_turn_for_all_who_wait(probe: tuple[str, object], evaluator: Evaluator) -> None:
    await begun(evaluator, slow={"1.1": 3600})
    one, other = Heard(), Heard()
    waiting = [
        asyncio.create_task(evaluator.say(turn(1), message_id="same", seen=one)),
        asyncio.create_task(evaluator.say(turn(1), message_id="same", seen=other)),
    ]
    await first_sign(one)
    await first_sign(other)
    cancelled = await evaluator.cancel(one.task_id)
    assert cancelled.status.state == 5  # TASK_STATE_CANCELED
    await asyncio.gather(*waiting)
    assert [one.state, other.state] == ["canceled", "canceled"]
    assert await playing_now(probe[0]) == 0
    assert (await evaluator.say(turn(1), message_id="same")).state == "canceled"
    assert (await evaluator.say(turn(1, attempt=2))).notes["turns"] == ["1.2"]


async def test_the_end_of_the_assessment_stops_the_turn(probe: tuple[str, object], evaluator: Evaluator) -> None:
    await begun(evaluator, slow={"1.1": 3600})
    seen = Heard()
    waiting = asyncio.create_task(evaluator.say(turn(1), seen=seen))
    await first_sign(seen)
    await evaluator.say(COMPLETE)
    await waiting
    assert seen.state == "canceled"
    assert await playing_now(probe[0]) == 0


async def test_a_caller_that_hangs_up_can_come_back(evaluator: Evaluator) -> None:
    await begun(evaluator, slow={"1.1": 0.6})
    seen = Heard()
    waiting = asyncio.create_task(evaluator.say(turn(1), message_id="same", seen=seen))
    await first_sign(seen)
    waiting.cancel()
    assert (await evaluator.say(turn(1), message_id="same")).notes["turns"] == ["1.1"]


@pytest.mark.parametrize(
    ("data", "as_text"),
    [
        ("hello there", True),
        ("{broken", True),
        ([1, 2], False),
        (
            {"message_type": "turn_complete", "actions": []},
            False,
        ),
        ({"turn_number": 1}, False),
        (turn(1) | {"turn_number": "soon"}, False),
        ({"message_type": "turn_start"}, True),
    ],
)
async def test_what_cannot_be_read_is_rejected(evaluator: Evaluator, data: object, as_text: bool) -> None:
    await begun(evaluator)
    heard = await evaluator.say(data, as_text=as_text)
    assert heard.state == "rejected"
    assert says().within(heard.sentence)
    assert (await evaluator.say(turn(1))).state == "completed"


async def test_a_start_that_fails_leaves_no_agent(evaluator: Evaluator) -> None:
    heard = await evaluator.say(start({"refuse": True}))
    assert heard.state == "failed"
    assert heard.sentence == "RuntimeError: no assessments today"
    assert (await evaluator.say(turn(1))).state == "rejected"
    bad_url = await evaluator.say(start(ues_url="ftp://somewhere"))
    assert bad_url.state == "failed"
    assert says("base_url", "ftp://somewhere").within(bad_url.sentence)


async def test_an_answer_of_the_wrong_type_fails_the_turn(evaluator: Evaluator) -> None:
    await begun(evaluator, nonsense=[1])
    heard = await evaluator.say(turn(1))
    assert heard.state == "failed"
    assert "execute_turn returned str: return complete_turn()" in heard.sentence


async def test_many_assessments_at_once(probe: tuple[str, object]) -> None:
    async def assessment(number: int) -> list[str]:
        async with Evaluator(probe[0]) as evaluator:
            await begun(evaluator, slow={f"{1 + number % 3}.1": 0.2})
            for turn_number in (1, 2, 3):
                last = await evaluator.say(turn(turn_number), message_id=f"{uuid.uuid4()}")
            await evaluator.say(COMPLETE)
            return [str(turn) for turn in last.notes["turns"]]

    played = await asyncio.gather(*(assessment(number) for number in range(MANY)))
    assert played == [["1.1", "2.1", "3.1"]] * MANY
    assert await playing_now(probe[0]) == 0


async def test_an_agent_that_has_had_enough_says_so_with_what_it_did_in_the_turn(evaluator: Evaluator) -> None:
    await begun(evaluator, enough=2)
    first, last = await evaluator.say(turn(1)), await evaluator.say(turn(2))
    assert first.answer is not None
    assert last.answer is not None
    assert first.answer["message_type"] == "turn_complete"
    assert last.answer == {
        "message_type": "early_completion",
        "reason": "enough is enough",
        "actions": [],
        "model_usage": [
            {"message_type": "model_usage", "model": "oracle", "calls": 1, "input_tokens": 20, "output_tokens": 2}
        ],
    }
