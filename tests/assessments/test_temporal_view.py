"""What an operator sees in Temporal: a history that reads like its story, and assessments that can be found."""

import asyncio
import html
import json
import re
from typing import Any

import httpx
import pytest
from temporalio.api.history.v1 import HistoryEvent
from temporalio.api.sdk.v1 import WorkflowMetadata
from temporalio.client import WorkflowExecutionStatus, WorkflowFailureError
from temporalio.exceptions import ApplicationError

from proctor.activities.attempts.markdown import as_summary, unescaped
from proctor.activities.attempts.scrubbing import PARTICIPANT_KEYS
from proctor.activities.simulation.keys import admin_key, reader_key
from proctor.protocol.updates import SimulationAdvancedUpdate
from proctor.storage.temporal import connect
from proctor.workflows import limits
from proctor.workflows.names import PROCTOR_PARTICIPANT, PROCTOR_SCENARIO, PROCTOR_SCORE, PROCTOR_STATUS
from purple_sdk.protocol.results import AssessmentResults
from tests.assessments import participants
from tests.assessments.participants import by_hand
from tests.assessments.scripts import diligent, idle
from tests.sentences import says
from tests.stack import Stack, assess, serving
from tests.work import only_nightly

MARKUP = "<b>down</b> and **out** ![](http://x.example/i.png)"

STORY = [
    ("admit", "check the request"),
    ("set_up", "prepare tiny"),
    ("greet", "start message"),
    ("purple_turn", "turn 1"),
    ("respond", "turn 1 · ben"),
    ("advance", "turn 1 · to 10:00"),
    ("purple_turn", "turn 2"),
    ("conclude", "close the simulation"),
    ("judge_criterion", "judge · Ana was told"),
    ("judge_criterion", "judge · Ben was asked"),
    ("judge_criterion", "judge · Good manners"),
    ("archive", "archive"),
    ("farewell", "tell the participant"),
    ("take_down", "end the simulation"),
]


def step_of(event: HistoryEvent) -> tuple[str, str] | None:
    """The activity that an event starts (or, for one that ran beside the workflow, records), with its summary."""
    summary = json.loads(event.user_metadata.summary.data or b'""')
    if event.HasField("activity_task_scheduled_event_attributes"):
        return event.activity_task_scheduled_event_attributes.activity_type.name, summary
    marker = event.marker_recorded_event_attributes
    if event.HasField("marker_recorded_event_attributes") and marker.marker_name == "core_local_activity":
        [about] = marker.details["data"].payloads
        return json.loads(about.data)["activity_type"], summary
    return None


async def test_the_history_reads_like_the_story_has_no_key_and_is_found_by_participant_and_score(stack: Stack) -> None:
    async with serving(diligent) as url:
        assessed = await assess(stack, url, "tiny")
    assert assessed.results is not None, assessed.sentence
    handle = (await connect(stack.config)).get_workflow_handle(assessed.results.assessment_id)
    events = [event async for event in handle.fetch_history_events()]
    steps = [step for step in map(step_of, events) if step is not None]
    judging = slice(STORY.index(("conclude", "close the simulation")) + 1, STORY.index(("archive", "archive")))
    steps[judging] = sorted(steps[judging])  # they are judged at the same time
    assert steps == STORY

    described = await handle.describe()
    memo = await described.memo()
    assert {name: memo[name] for name in ("scenario", "participant", "status", "score", "coverage", "seed")} == {
        "scenario": "tiny",
        "participant": url,
        "status": "completed",
        "score": "18/18",
        "coverage": 0.9,
        "seed": 7,
    }
    attributes = described.typed_search_attributes
    assert attributes[PROCTOR_SCENARIO] == "tiny"
    assert attributes[PROCTOR_PARTICIPANT] == url
    assert attributes[PROCTOR_STATUS] == "completed"
    assert attributes[PROCTOR_SCORE] == 1.0
    no_key_is_in(events, stack, assessed.results.assessment_id)
    await is_found_by_participant_and_score(stack, url, assessed.results.assessment_id)


def no_key_is_in(events: list[HistoryEvent], stack: Stack, task_id: str) -> None:
    history = b"".join([event.SerializeToString() for event in events])
    assert task_id.encode() in history
    secret = stack.config.secret.get_secret_value()
    for known in (secret, *(make(secret, task_id) for make in (admin_key, reader_key))):
        assert known.encode() not in history
    assert not re.search(PARTICIPANT_KEYS.pattern.encode(), history)


@only_nightly  # by default: tests/workflows/test_story.py has it in every turn
async def test_time_advances_in_an_activity_of_its_own_where_no_character_is_asked(stack: Stack) -> None:
    async with serving(idle) as url:
        assessed = await assess(stack, url, "tiny", max_turns=2)
    assert assessed.results is not None, assessed.sentence
    handle = (await connect(stack.config)).get_workflow_handle(assessed.results.assessment_id)
    steps = [step_of(event) async for event in handle.fetch_history_events()]
    turns = [step for step in steps if step is not None and step[1].startswith("turn ")]
    assert turns == [
        ("purple_turn", "turn 1"),
        ("advance", "turn 1 · to 10:00"),
        ("purple_turn", "turn 2"),
        ("advance", "turn 2 · to 11:00"),
    ]
    moves = [
        (u.previous_time.hour, u.new_time.hour) for u in assessed.updates if isinstance(u, SimulationAdvancedUpdate)
    ]
    assert moves == [(9, 10), (10, 11)]


async def is_found_by_participant_and_score(stack: Stack, url: str, task_id: str) -> None:
    client = await connect(stack.config)
    query = f'ProctorParticipant = "{url}" AND ProctorScenario = "tiny" AND ProctorScore'
    # Visibility is written behind the workflow's back, a moment later.
    while not (found := [w.id async for w in client.list_workflows(f"{query} = 1.0")]):
        await asyncio.sleep(0.1)
    assert found == [task_id]
    assert [w.id async for w in client.list_workflows(f"{query} > 0.2")] == [task_id]
    assert [w.id async for w in client.list_workflows(f"{query} < 1.0")] == []


async def test_a_failed_participant_is_a_failed_workflow_with_a_readable_reason(stack: Stack) -> None:
    def fail(_said: Any) -> Any:
        return participants.task("failed", participants.text(f"the model is {MARKUP}"))

    async with by_hand(fail) as participant:
        assessed = await assess(stack, participant.url, "tiny", turn_tries=2)
    assert assessed.results is not None
    port = participant.url.rpartition(":")[2]
    assert assessed.results.assessment_id.endswith(f"-tiny-127-0-0-1-{port}")
    assert {"assessment_start", "turn_start"} <= set(participant.kinds)
    assert "tiny" not in json.dumps(participant.sent), "it would know what it is assessed on"
    handle = (await connect(stack.config)).get_workflow_handle(assessed.results.assessment_id)
    described = await handle.describe()
    assert described.status == WorkflowExecutionStatus.FAILED
    assert described.typed_search_attributes[PROCTOR_STATUS] == "failed"
    assert (await described.memo())["status"] == "failed"
    reason = await failure_of(handle)
    assert reason.type == "AssessmentFailed"
    assert reason.message == says(MARKUP)
    assert AssessmentResults.model_validate(reason.details[0]) == assessed.results
    metadata = await handle.query("__temporal_workflow_metadata", result_type=WorkflowMetadata)
    rendered = await render(stack, metadata.current_details)
    assert "<strong>Failed</strong>" in rendered
    assert says(part=html.escape(MARKUP, quote=False)).within(rendered)
    steps = [step_of(event) async for event in handle.fetch_history_events()]
    played = [summary for name, summary in filter(None, steps) if name == "purple_turn"]
    assert played == ["turn 1", "turn 1 · try 2"]
    assert assessed.results.turn_tries == {"1": 2}


async def render(stack: Stack, markdown: str) -> str:
    """What Temporal's UI makes of a workflow's summary or details."""
    async with httpx.AsyncClient(trust_env=False) as http:
        answer = await http.get(f"{stack.local.ui_url}/render", params={"content": markdown})
    return answer.raise_for_status().text.partition("<main>")[2].partition("</main>")[0]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("<script>alert(1)</script> <img src=x onerror=alert(1)> <!-- no -->", None),
        ("_a_ __b__ ~~c~~ `d` $x$ [e](http://x.example) [f]: y &lt;g&gt; <http://x.example>", None),
        ("http://x.example/ ftp://x.example \\<b>h</b> \\\\*i*", None),
        ("a\n\n# b\n\n1. c\n\n> d\n\n| e |\n|---|\n| f |", "a # b 1. c > d | e | |---| | f |"),
        ("    indented", "indented"),
    ],
)
async def test_text_of_others_is_no_markup(stack: Stack, text: str, shown: str | None) -> None:
    rendered = await render(stack, as_summary(text))
    assert html.unescape(rendered).strip().replace("–", "--") == f"<p>{shown or text}</p>"
    assert rendered.count("<") == 2
    assert unescaped(as_summary(text)) == (shown or text)


def test_a_summary_is_cut_to_what_temporal_takes() -> None:
    summary = as_summary("ü<" * 500)
    assert 390 < len(summary.encode()) <= 400
    assert ("ü<" * 500).startswith(unescaped(summary))
    assert len(limits.quick("😀" * 500)["summary"].encode()) == 400


async def failure_of(handle: Any) -> ApplicationError:
    with pytest.raises(WorkflowFailureError) as failure:
        await handle.result()
    assert isinstance(failure.value.cause, ApplicationError)
    return failure.value.cause
