"""A transcript that is too large is shortened, results of tools first, and says so."""

import json
from typing import Any

from proctor.activities.participant.transcripts import MOST_BYTES, kept_transcript
from tests.sentences import says


def _whole(steps: int, *, message: int, result: int) -> dict[str, Any]:
    each = {
        "source": "agent",
        "message": "m" * message,
        "observation": {"results": [{"source_call_id": "c", "content": "r" * result}]},
    }
    return {"schema_version": "ATIF-v1.7", "steps": [{**each, "step_id": number} for number in range(steps)]}


def _kept(whole: dict[str, Any], most: int = MOST_BYTES) -> dict[str, Any]:
    content = kept_transcript(whole, most)
    assert len(content) <= most
    kept = json.loads(content)
    assert isinstance(kept, dict)
    return kept


def test_one_that_is_small_enough_stays_as_it_is() -> None:
    whole = _whole(3, message=100, result=100_000)
    assert _kept(whole) == whole


def test_results_of_tools_are_cut_before_what_the_agent_said() -> None:
    kept = _kept({**_whole(100, message=5_000, result=50_000), "notes": "By hand."})
    assert len(kept["steps"]) == 100
    assert kept["steps"][0]["message"] == "m" * 5_000
    assert kept["steps"][0]["observation"]["results"][0]["content"].endswith("r … (46000 more characters)")
    assert kept["notes"].startswith("By hand. Shortened from 55")
    assert says("4000").within(kept["notes"])


def test_long_texts_are_cut_next() -> None:
    kept = _kept(_whole(100, message=50_000, result=0))
    assert len(kept["steps"]) == 100
    assert says("4000").within(kept["notes"])


def test_steps_in_the_middle_are_left_out_last() -> None:
    kept = _kept(_whole(2000, message=100, result=100), 100_000)
    numbers = [step["step_id"] for step in kept["steps"]]
    assert (numbers[0], numbers[-1]) == (0, 1999)
    assert says("2000", omitted=2000 - len(numbers)).within(kept["notes"])


def test_one_that_can_not_be_shortened_leaves_a_sentence() -> None:
    kept = _kept({"steps": [{str(number): "x" for number in range(20_000)}], "schema_version": 1}, 100_000)
    assert kept["steps"] == []
    assert says().within(kept["notes"])
