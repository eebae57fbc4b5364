"""Checks of the other services: simulator, gateway, and the collector of traces."""

import asyncio
import os
import socket
import time
from collections.abc import Mapping
from dataclasses import replace
from email.utils import parsedate_to_datetime
from urllib.parse import urlsplit

import httpx

from proctor.a2a_gateway.auth.oidc import Oidc
from proctor.a2a_gateway.auth.tokens import Tokens, tokens_path
from proctor.activities.simulation.addresses import known_addresses
from proctor.observing import tracing
from proctor.service.doctor.findings import Finding, of_problem
from proctor.service.doctor.temporal import of_clock
from proctor.service.engine_wait import find_problem_of_engine
from proctor.service.simulator_watch import explain_problem, find_problem_of_public_address, find_problem_of_simulator
from proctor.settings.config import GreenAgentConfig
from proctor.ues.http.open_routes import VERSION
from purple_sdk.processes.http_clients import make_http_client
from purple_sdk.processes.together import do_all
from purple_sdk.ues import UESConnectionError

_SECONDS = 5.0


async def look_at_simulators(config: GreenAgentConfig) -> list[Finding]:
    """Check that each simulator answers and accepts this deployment's key.

    If at least one simulator does, a failure of another one is only a warning.
    """
    if config.ues_command:
        sentence = "Each assessment gets a UES server of its own (AGENTBEATS_GREEN_UES_COMMAND)."
        return [Finding("simulator", "skipped", sentence)]
    addresses = await known_addresses(config)
    if not addresses:
        sentence = f"The addresses of the simulators at {config.ues_url} are unknown."
        return [Finding("simulator", "problem", sentence, "Mend the name, or AGENTBEATS_GREEN_UES_URL.")]
    looks = await do_all(*(_look_at_simulator(address, config) for address in addresses))
    is_one_well = any(look[0].state != "problem" for look in looks)
    findings = [finding for look in looks for finding in look]
    findings = [
        replace(finding, state="warning") if is_one_well and finding.state == "problem" else finding
        for finding in findings
    ]
    if is_one_well and (problem := await find_problem_of_public_address(config)):
        findings.append(of_problem("simulator", problem))
    elif is_one_well and (problem := await find_problem_of_public_address(config, must_answer=True)):
        findings.append(replace(of_problem("simulator", problem), state="warning"))
    return findings


async def _look_at_simulator(url: str, config: GreenAgentConfig) -> list[Finding]:
    asked_at = time.time()
    if isinstance(answer := await _get(f"{url}/health"), str):
        here = config.model_copy(update={"ues_url": url})
        return [of_problem("simulator", explain_problem(here, UESConnectionError(answer)))]
    clock = _clock("the simulator", answer.headers, asked_at)
    if trouble := await find_problem_of_simulator(url, config):
        return [of_problem("simulator", trouble), *clock]
    if (theirs := _json(answer).get("version")) != VERSION:
        sentence = f"The one at {url} has version {theirs}, and this proctor comes with {VERSION}."
        return [Finding("simulator", "warning", sentence, "Run simulator and workers from the same release."), *clock]
    return [Finding("simulator", "ok", f"It answers at {url} and takes the key."), *clock]


async def look_at_gateway(url: str) -> list[Finding]:
    asked_at = time.time()
    card = await _get(f"{url}/.well-known/agent-card.json")
    ready = card if isinstance(card, str) else await _get(f"{url}/ready")
    if isinstance(card, str) or isinstance(ready, str):
        remedy = "Start it (`proctor gateway`), or say where it is with --gateway."
        return [Finding("gateway", "warning", f"No server answers at {url} ({ready}).", remedy)]
    if card.status_code != 200:
        sentence = f"What answers at {url} has no agent card (status {card.status_code})."
        return [Finding("gateway", "problem", sentence, "Say with --gateway where the gateway is.")]
    clock = _clock("the gateway", card.headers, asked_at)
    if lost := await _look_at_card_url(url, _json(card)):
        clock = [lost, *clock]
    if ready.status_code == 200:
        return [Finding("gateway", "ok", f"It answers at {url} and can serve."), *clock]
    troubles = {name: what for name, what in _json(ready).items() if name != "status" and what != "ok"}
    sentence = " ".join(str(what) for what in troubles.values()) or "it can't serve, and tells why to admins alone"
    return [Finding("gateway", "problem", f"It answers at {url}, but: {sentence}", "Mend what it names."), *clock]


async def _look_at_card_url(url: str, card: Mapping[str, object]) -> Finding | None:
    """Warn if the address on the agent card doesn't answer. It may still be reachable from other machines."""
    ways = card.get("supportedInterfaces")
    named = next((str(way.get("url")) for way in ways if isinstance(way, dict)), "") if isinstance(ways, list) else ""
    if not named or named.rstrip("/") == url:
        return None
    answer = await _get(f"{named.rstrip('/')}/.well-known/agent-card.json")
    if isinstance(answer, httpx.Response) and answer.status_code == 200:
        return None
    reason = answer if isinstance(answer, str) else "no agent card is there"
    return Finding(
        "gateway",
        "warning",
        f"Its agent card sends callers to {named}, which doesn't answer from here ({reason}).",
        "See whether callers reach it, or set AGENTBEATS_GREEN_CARD_URL to the address that they use.",
    )


async def look_at_tokens(config: GreenAgentConfig) -> Finding:
    tokens = Tokens(tokens_path(config))
    if not tokens.is_there() and not config.tokens_file:
        return Finding("tokens", "skipped", "This machine doesn't ask for tokens (`proctor token create`).")
    if problem := tokens.find_problem():
        return of_problem("tokens", problem)
    return Finding("tokens", "ok", f"{tokens.path} can be used.")


async def look_at_engine(config: GreenAgentConfig) -> Finding:
    if config.containers != "on":
        return Finding("engine", "skipped", "No Docker engine has to be here (AGENTBEATS_GREEN_CONTAINERS).")
    problem = await find_problem_of_engine(config)
    return of_problem("engine", problem) if problem else Finding("engine", "ok", "A Docker engine answers.")


async def look_at_provider(config: GreenAgentConfig) -> Finding:
    if not config.oidc_issuer:
        return Finding("oidc", "skipped", "No identity provider is set (AGENTBEATS_GREEN_OIDC_ISSUER).")
    problem = await Oidc(config).find_problem()
    if problem:
        return of_problem("oidc", problem)
    return Finding("oidc", "ok", f"The keys of {config.oidc_issuer} can be read.")


async def look_at_collector(_: GreenAgentConfig) -> Finding:
    """Check that requested traces can be made and sent."""
    if not tracing.is_requested():
        return Finding("traces", "skipped", "No OTEL_… variable asks for them.")
    missing = tracing.find_missing()
    if missing:
        return Finding("traces", "problem", missing)
    endpoint = tracing.find_endpoint(os.environ)
    if endpoint is None:
        return Finding("traces", "ok", "They go to standard output.")
    parts = urlsplit(endpoint)
    port = parts.port or (443 if parts.scheme == "https" else 80)
    try:
        await asyncio.to_thread(lambda: socket.create_connection((parts.hostname or "", port), _SECONDS).close())
    except OSError as error:
        sentence = f"No collector takes them at {endpoint} ({error.strerror or error})."
        return Finding("traces", "warning", sentence, "Start the collector, or set OTEL_EXPORTER_OTLP_ENDPOINT.")
    return Finding("traces", "ok", f"A collector listens at {endpoint}.")


def _clock(whose: str, headers: Mapping[str, str], asked_at: float) -> list[Finding]:
    """Check a service's clock by its answer's ``Date``, which has whole seconds."""
    try:
        server_time = parsedate_to_datetime(headers["date"]).timestamp()
    except (KeyError, ValueError):
        return []
    early, late = server_time - time.time(), server_time + 1 - asked_at
    return [of_clock(whose, early if early > 0 else late if late < 0 else 0.0)]


async def _get(url: str) -> httpx.Response | str:
    """The answer to a GET, or the reason why there is none."""
    async with make_http_client(timeout=_SECONDS) as http:
        try:
            return await http.get(url)
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            return str(error) or type(error).__name__


def _json(answer: httpx.Response) -> dict[str, object]:
    try:
        content = answer.json()
    except ValueError:
        return {}
    return content if isinstance(content, dict) else {}
