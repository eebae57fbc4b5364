"""One evaluator that is observed in every way, and plays one assessment, for all tests of this room."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from unittest.mock import patch

import pytest

from purple_sdk.processes.ports import free_ports, is_free
from purple_sdk.protocol.results import AssessmentResults
from tests.assessments.scripts import diligent
from tests.observing.collector import Collector
from tests.openai_endpoint import OpenAIEndpoint, quoting
from tests.stack import Stack, assess_by, request_json, running_stack

PEOPLE, JUDGE = "openai/people", "openai/judge"
TRACE, CALLER = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
"""The trace, and the span in it, that the caller of the assessment belongs to."""

MANNERS = {
    "items": [
        {"id": "thanks", "reason": "It ends with thanks.", "points": 2},
        {"id": "warm", "reason": "Dear Ben, and no more.", "points": 1},
    ],
    "explanation": "Polite, a little cool.",
}


@dataclass(frozen=True)
class Observed:
    """The evaluator, what it was seen to do, and the assessment that it played."""

    evaluator: Stack
    collector: Collector
    first_port: int
    task_id: str
    results: AssessmentResults

    def address_of(self, service: str) -> str:
        """A service's observing address."""
        return f"http://127.0.0.1:{self.first_port + ('gateway', 'ues', 'worker').index(service)}"

    def log_of(self, service: str) -> str:
        return (self.evaluator.local.logs / f"{service}.log").read_text()


@pytest.fixture(scope="session")
def observed(scenarios_dir: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Observed]:
    prices = tmp_path_factory.mktemp("prices") / "prices.toml"
    prices.write_text(f'currency = "EUR"\n[models."{JUDGE}"]\ninput = 2_000_000\noutput = 500_000\n')
    first_port = _three_ports_in_a_row()
    with Collector() as collector, OpenAIEndpoint() as models:
        models.answer("Would you answer this", {"should_respond": True, "reason": "He is asked."})
        models.answer("You decided to answer", {"text": "Half past twelve suits me well."})
        models.answer("Now judge this criterion: Good manners", quoting(MANNERS))
        settings: dict[str, str | None] = {
            "OTEL_EXPORTER_OTLP_ENDPOINT": collector.url,
            "OTEL_BSP_SCHEDULE_DELAY": "200",
            "OTEL_SERVICE_NAME": None,
            "AGENTBEATS_GREEN_LOG_FORMAT": "json",
            "AGENTBEATS_GREEN_LOG_LEVEL": "DEBUG",
            "OPENAI_API_KEY": "key-of-this-test",
            "AGENTBEATS_GREEN_RESPONSE_GENERATOR_MODEL": PEOPLE,
            "AGENTBEATS_GREEN_RESPONSE_GENERATOR_BASE_URL": models.base_url,
            "AGENTBEATS_GREEN_EVALUATION_MODEL": JUDGE,
            "AGENTBEATS_GREEN_EVALUATION_BASE_URL": models.base_url,
            "AGENTBEATS_GREEN_PRICES": str(prices),
        }
        with (
            running_stack(scenarios_dir, environment=settings, observe_port=first_port) as stack,
            stack.serving(diligent) as participant,
        ):
            request, accepted = request_json(participant, "tiny", offline=False), list[str]()
            with patch.dict(os.environ, {"TRACEPARENT": f"00-{TRACE}-{CALLER}-01"}):
                assessed = stack.run(assess_by(stack, request, accepted.append))
            assert assessed.results is not None, assessed.sentence
            yield Observed(stack, collector, first_port, accepted[0], assessed.results)


def _three_ports_in_a_row() -> int:
    return next(port for port in free_ports(100) if all(is_free("127.0.0.1", port + n) for n in range(3)))
