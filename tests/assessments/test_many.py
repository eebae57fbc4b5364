"""Many assessments: side by side, one after another in a context, and the same one again."""

import asyncio
from datetime import datetime
from typing import Any

from a2a.types import GetTaskRequest, ListTasksRequest

from purple_sdk.protocol.results import AssessmentResults
from purple_sdk.ues import AsyncUESClient
from tests.a2a_gateway.callers import at_once, data_part, message, sdk_client, send, state_name
from tests.assessments.normalising import normalised
from tests.assessments.scripts import BEN, ask_ben, diligent
from tests.stack import Script, Stack, play, serving
from tests.work import only_nightly


def asking(in_turn: int) -> Script:
    """Asks Ben in the turn of that number, and passes his answer on with the time at which it came."""

    async def script(turn: int, ues: AsyncUESClient, now: datetime) -> Any:
        if turn == in_turn:
            await ask_ben(ues)
        mails = (await ues.email.query())["emails"]
        for mail in mails:
            if mail["from_address"] == BEN and not mail["is_read"]:
                await ues.email.read(message_ids=[mail["message_id"]])
                await ues.chat.send(role="assistant", content=f"{mail['received_at']}: {mail['body_text']}")

    return script


@only_nightly
async def test_four_at_once_score_as_one_after_the_other(stack: Stack) -> None:
    scripts = [asking(1), asking(3), asking(9), diligent]

    async def one(script: Script) -> AssessmentResults:
        return await play(stack, "tiny", script, max_turns=5)

    at_once_results = await asyncio.gather(*map(one, scripts))
    in_turn_results = [await one(script) for script in scripts]
    assert [results.scores.overall.score for results in in_turn_results] == [18, 18, 0, 18]
    assert [normalised(results) for results in at_once_results] == [normalised(results) for results in in_turn_results]


@only_nightly  # by default: tests/workflows/test_contexts.py, and test_cancel.py with the real activities
async def test_requests_of_one_context_run_one_after_another(stack: Stack) -> None:
    playing: list[str] = []
    spans: list[tuple[str, str]] = []
    first_plays, first_may_end = asyncio.Event(), asyncio.Event()

    def recording(name: str, until: asyncio.Event | None = None) -> Script:
        async def script(turn: int, ues: AsyncUESClient, now: datetime) -> Any:
            playing.append(name)
            first_plays.set()
            if until is not None:
                await until.wait()
            spans.append((name, "+".join(playing)))
            playing.remove(name)

        return script

    def request(url: str) -> dict[str, Any]:
        config = {"scenario_id": "tiny", "offline": True, "seed": 7, "max_turns": 2}
        return {"participants": {"personal_assistant": url}, "config": config}

    async with (
        serving(recording("first", first_may_end)) as first_url,
        serving(recording("second")) as second_url,
        serving(recording("elsewhere")) as other_url,
        sdk_client(stack.gateway_url, streaming=False) as caller,
    ):

        async def state(task_id: str) -> str:
            return state_name((await caller.get_task(GetTaskRequest(id=task_id))).status.state)

        first = await send(caller, at_once(message(data_part(request(first_url)), context="one desk")))
        await first_plays.wait()
        second = await send(caller, at_once(message(data_part(request(second_url)), context="one desk")))
        elsewhere = await send(caller, message(data_part(request(other_url)), context="another desk"))
        assert state_name(elsewhere.status.state) == "completed"
        assert [await state(first.id), await state(second.id)] == ["working", "submitted"]
        listed = await caller.list_tasks(ListTasksRequest(context_id="one desk"))
        assert {task.id: state_name(task.status.state) for task in listed.tasks} == {
            first.id: "working",
            second.id: "submitted",
        }
        first_may_end.set()
        while await state(second.id) != "completed":
            await asyncio.sleep(0.05)
        assert await state(first.id) == "completed"
    assert [name for name, _ in spans if name != "elsewhere"] == ["first", "first", "second", "second"]
    assert all("first" not in together for name, together in spans if name == "second")


async def test_a_seed_is_drawn_and_told_and_gives_the_same_result_again(stack: Stack) -> None:
    """What else another seed makes of the day is in ``tests/activities/test_characters.py``."""
    drawn = [await play(stack, "tiny", asking(1), seed=None, max_turns=turns) for turns in (2, 1)]
    first, other = (results.seed for results in drawn)
    assert first is not None
    assert other is not None
    assert first != other
    again = await play(stack, "tiny", asking(1), seed=first, max_turns=2)
    assert again.assessment_id != drawn[0].assessment_id
    assert normalised(again) == normalised(drawn[0])
    told = [entry for entry in again.action_log if entry.action == "chat.send_message"]
    assert len(told) == 1, "it tells when Ben's answer came"
