"""No text that a participant may write holds up a shipped scenario: neither its characters nor its evaluators."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from proctor.activities.characters.generator import respond
from proctor.activities.characters.messages import OutgoingMessage
from proctor.activities.judging.judge import judge
from proctor.activities.scenario_code.evaluators import judge_by_evaluator
from proctor.activities.scenario_code.manager import load_evaluators, load_package
from proctor.protocol.evaluation import AgentBeatsEvalContext
from purple_sdk.protocol.results import ActionLogEntryWithTurn
from tests.stack import SCENARIOS
from tests.work import NIGHTLY

LONG = 60_000 if NIGHTLY else 20_000
"""Characters; what takes a text's square of steps takes minutes with either."""
TEXTS = {
    "words": "a " * (LONG // 2),
    "one word": "a" * LONG,
    "times": "Friday 13:30 not " * (LONG // 17),
    "lines": "\n>" * (LONG // 2),
    "closings": "not closed until it is over, expected " * (LONG // 38),
    "sentences": "No. Yes! Dr. A? " * (LONG // 16),
    "spaces": "re" + " " * LONG,
    "other scripts": "é١２ " * (LONG // 4),
    "half a pair": "\ud800 not \udfff closed " * 1000,
}


def _did(action: str, **parameters: Any) -> ActionLogEntryWithTurn:
    at = datetime(2026, 6, 10, 8, tzinfo=UTC)
    return ActionLogEntryWithTurn(turn=1, timestamp=at, action=action, parameters=parameters, success=True)


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
@pytest.mark.parametrize("scenario_id", ["email_triage_basic", "reschedule_day"])
async def test_everybody_copes_with_any_text(scenario_id: str, text: str) -> None:
    """With Python's own regular expressions one such mail took minutes."""
    folder = SCENARIOS / scenario_id
    package = load_package(folder)
    config = package.config
    states = json.loads(package.initial_state)["environment"]["modality_states"]
    people = [person for person in config.characters.values() if person.email]
    addresses = [person.email for person in people if person.email]
    for key, person in config.characters.items():
        sent = OutgoingMessage(
            modality="email",
            message_id="m",
            sent_at=datetime(2026, 6, 10, 8, tzinfo=UTC),
            to=[person.email or ""],
            subject=text[:1000],
            body=text,
        )
        await respond(sent, key, config, None, seed=1, turn=1)
    log = [
        _did("email.send", to_addresses=addresses, subject=text[:1000], body_text=text),
        _did("sms.send", to_numbers=[p.phone for p in config.characters.values() if p.phone], body=text),
        _did("chat.send_message", role="assistant", content=text),
        _did("calendar.create", title=text[:1000], description=text, start="2026-06-12T13:30", end="2026-06-12T14:00"),
    ]
    context = AgentBeatsEvalContext(None, {}, log, states, states, config.user_prompt)
    evaluators = load_evaluators(folder, config.criteria)
    for criterion in config.criteria:
        if criterion.evaluator_id:
            verdict = await judge_by_evaluator(criterion, context, evaluators)
        else:
            verdict = await judge(criterion, config, context, [], 60_000)
        assert verdict.max_score + verdict.unscored_points == criterion.max_score
