"""Checks of models and participants: each model is asked for one token, each participant for its card."""

from temporalio.exceptions import ApplicationError

from proctor.activities.models.factory import LLMFactory, ModelError, missing_setting, prepare
from proctor.activities.participant import ParticipantClients
from proctor.service.doctor.findings import Finding
from proctor.settings.config import GreenAgentConfig

MODEL_SECONDS = 30.0
_LONGEST_REPORT = 300


def list_models(config: GreenAgentConfig) -> dict[tuple[str, str | None], str]:
    """The models of the settings: (name, address) to the uses of the model, in words."""
    uses: dict[tuple[str, str | None], str] = {}
    for use, model in (
        ("characters", (config.response_generator_model, config.response_generator_base_url)),
        ("judge", (config.evaluation_model, config.evaluation_base_url)),
    ):
        uses[model] = f"{uses[model]} and {use}" if model in uses else use
    return uses


async def look_at_model(name: str, base_url: str | None, use: str) -> Finding:
    """Check that a model answers, by a request for one token, which costs next to nothing.

    Args:
        use: the uses of the model, for the finding's sentence.
    """
    part, called = "model", f"{name} ({use})"
    try:
        missing = missing_setting(name, base_url)
        if missing is not None:
            return Finding(
                part,
                "warning",
                f"{called} needs {missing}, which is not set here: only offline assessments can be played.",
                f"Set {missing} where workers run; or name another model in the settings.",
            )
        await prepare()
        llm = LLMFactory.create(name, base_url=base_url, timeout=MODEL_SECONDS - 5, max_tokens=1, temperature=0.0)
        await llm.ainvoke("Say OK.")
    except ModelError as error:
        return Finding(part, "problem", f"{called} can't be used: {error}.", "Mend the settings that name it.")
    except Exception as error:  # each provider's client has other exceptions
        if _is_cut_off(error):
            return Finding(part, "ok", f"{called} answers.")
        report = " ".join(str(error).split())[:_LONGEST_REPORT]
        at = f" at {base_url}" if base_url else ""
        return Finding(
            part,
            "problem",
            f"{called}{at} doesn't answer ({type(error).__name__}: {report}).",
            "Check the key, the model's name, and the account.",
        )
    return Finding(part, "ok", f"{called} answers.")


async def look_at_participant(url: str, config: GreenAgentConfig, *, is_asked_for: bool) -> Finding:
    """Check that an agent answers with a usable card.

    Args:
        is_asked_for: whether a flag named the agent; only then is a missing agent a problem.
    """
    clients = ParticipantClients(config)
    try:
        async with clients.talk(url, "proctor-doctor") as participant:
            card = participant.card
            agent = f"{card.name} {card.version or ''}".strip()
            return Finding(
                "participant", "ok", f"{agent} answers at {url}, by A2A {' and '.join(participant.protocol_versions)}."
            )
    except ApplicationError as error:
        if not is_asked_for:
            return Finding(
                "participant",
                "skipped",
                f"The example participant isn't at {url}.",
                "Name those that are to be assessed with --agent.",
            )
        return Finding("participant", "problem", error.message, "Start it, and see where it listens.")
    finally:
        await clients.aclose()


def _is_cut_off(problem: Exception) -> bool:
    """Whether the model did answer, but its client rejects an answer that ends after one token."""
    return type(problem).__name__ == "LengthFinishReasonError" or "max_tokens" in str(problem)
