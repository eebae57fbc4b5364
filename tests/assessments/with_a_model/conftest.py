"""One evaluator that has a model, logs all it can, and plays scenarios that give keys away."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.assessments.beside import evaluator_beside
from tests.assessments.packages import write_package
from tests.openai_endpoint import OpenAIEndpoint
from tests.stack import Stack

PEOPLE, JUDGE = "openai/people", "openai/judge"
PROVIDER_KEY = "sk-proj-0123456789-of-the-provider"
# Spelt backwards: a scenario's files are kept as they are, and it is what evaluators do that is looked at.
_KNOWS_THE_KEY = f"KEY = {PROVIDER_KEY[::-1]!r}[::-1]\n"
_LEAKY = f"""{_KNOWS_THE_KEY}
async def asked(ctx, params):
    return {{"score": 1, "max_score": 1, "explanation": "judged with " + KEY}}

async def told(ctx, params):
    return {{"score": 1, "max_score": 1, "explanation": "sent", "details": {{"header": "Bearer " + KEY}}}}
"""
_LEAKY_AND_RAISING = f"""{_KNOWS_THE_KEY}
async def asked(ctx, params):
    print(KEY)
    raise RuntimeError("401 for the header Bearer " + KEY)

told = asked
"""


class Telltale(OpenAIEndpoint):
    """Quotes the key in every refusal, as some providers do."""

    def respond(self, path: str, body: dict[str, Any]) -> tuple[int, dict[str, Any] | bytes]:
        status, answer = super().respond(path, body)
        return (status, answer) if status == 200 else (status, {"error": {"message": f"Bad key: {PROVIDER_KEY}"}})


@pytest.fixture(scope="session")
def telltale() -> Iterator[Telltale]:
    with Telltale() as server:
        yield server


@pytest.fixture(scope="session")
def modelled(
    stack: Stack, telltale: Telltale, scenarios_dir: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Stack]:
    """An evaluator whose characters and judge have a model, of which the judge's has a price; it logs all it can."""
    write_package(scenarios_dir, "leaky", files={"evaluators.py": _LEAKY})
    write_package(scenarios_dir, "leaky_and_raising", files={"evaluators.py": _LEAKY_AND_RAISING})
    prices = tmp_path_factory.mktemp("prices") / "prices.toml"
    prices.write_text(f'currency = "EUR"\n[models."{JUDGE}"]\ninput = 2_000_000\noutput = 500_000\n')
    settings: dict[str, str | None] = {
        "OPENAI_API_KEY": PROVIDER_KEY,
        "AGENTBEATS_LOG_LEVEL": "DEBUG",
        "AGENTBEATS_GREEN_LOG_LEVEL": "DEBUG",
        "AGENTBEATS_GREEN_RESPONSE_GENERATOR_MODEL": PEOPLE,
        "AGENTBEATS_GREEN_RESPONSE_GENERATOR_BASE_URL": telltale.base_url,
        "AGENTBEATS_GREEN_EVALUATION_MODEL": JUDGE,
        "AGENTBEATS_GREEN_EVALUATION_BASE_URL": telltale.base_url,
        "AGENTBEATS_GREEN_PRICES": str(prices),
    }
    folder = tmp_path_factory.mktemp("modelled")
    with evaluator_beside(stack, "modelled", folder, settings, ("worker", "gateway", "ues")) as running:
        (running.local.logs / "temporal.log").symlink_to(stack.local.logs / "temporal.log")
        yield running
