"""The other services: simulator, gateway, and who collects traces."""

import asyncio
import os
import socket
import time
from collections.abc import Mapping
from dataclasses import replace
from email.utils import parsedate_to_datetime
from urllib.parse import urlsplit

import httpx

from a2a_gateway.door.oidc import Oidc
from activities.simulation.addresses import known_addresses
from activities.simulation.keys import host_key
from proctor.doctor.findings import Finding, of_problem
from proctor.doctor.temporal import of_clock
from proctor_observing import tracing
from proctor_settings.config import GreenAgentConfig
from purple_sdk.ues import AsyncUESHost, AuthenticationError, UESError
from purple_sdk.ues.tls import tls

_SECONDS = 5.0


async def look_at_simulators(config: GreenAgentConfig) -> list[Finding]:
    """Whether each simulator answers, and takes this deployment's key; that one of several doesn't is a warning."""
    if config.ues_command:
        said = "Each assessment gets a UES server of its own (AGENTBEATS_GREEN_UES_COMMAND)."
        return [Finding("simulator", "skipped", said)]
    addresses = await known_addresses(config)
    if not addresses:
        said = f"Nobody knows where the simulators at {config.ues_url} are."
        return [Finding("simulator", "problem", said, "Mend the name, or AGENTBEATS_GREEN_UES_URL.")]
    looks = await asyncio.gather(*(_look_at_simulator(address, config) for address in addresses))
    is_one_well = any(look[0].state == "ok" for look in looks)
    found = [each for look in looks for each in look]
    return [replace(each, state="warning") if is_one_well and each.state == "problem" else each for each in found]


async def _look_at_simulator(url: str, config: GreenAgentConfig) -> list[Finding]:
    async with httpx.AsyncClient(timeout=_SECONDS, trust_env=False, verify=tls()) as http:
        asked = time.time()
        try:
            answer = await http.get(f"{url}/health")
        except (httpx.HTTPError, httpx.InvalidURL) as problem:
            said = f"Nobody answers at {url} ({str(problem) or type(problem).__name__})."
            return [_ill(said, "Start it (`proctor ues`), or set AGENTBEATS_GREEN_UES_URL.")]
        if answer.status_code != 200:
            said = f"What answers at {url}/health is no simulator, or an ill one (status {answer.status_code})."
            return [_ill(said, "Set AGENTBEATS_GREEN_UES_URL to the simulator's address.")]
        clock = _clock("the simulator", answer.headers, asked)
        try:
            host = AsyncUESHost(url, host_key(config.secret.get_secret_value()), http=http)
            standing = len((await host.list())["simulations"])
        except AuthenticationError:
            said = f"The one at {url} doesn't take this deployment's key."
            remedy = "Give simulator and workers the same AGENTBEATS_GREEN_SECRET, or state folder."
            return [_ill(said, remedy), *clock]
        except (UESError, KeyError, TypeError) as problem:
            return [_ill(f"The one at {url} can't be asked ({problem}).", "See its log."), *clock]
    said = f"It answers at {url} and takes the key; simulations there: {standing}."
    return [Finding("simulator", "ok", said), *clock]


def _ill(said: str, remedy: str) -> Finding:
    return Finding("simulator", "problem", said, remedy)


async def look_at_gateway(url: str) -> list[Finding]:
    """Whether a gateway answers, and can serve."""
    async with httpx.AsyncClient(timeout=_SECONDS, trust_env=False, verify=tls()) as http:
        try:
            asked = time.time()
            card = await http.get(f"{url}/.well-known/agent-card.json")
            ready = await http.get(f"{url}/ready")
        except (httpx.HTTPError, httpx.InvalidURL) as problem:
            said = f"Nobody answers at {url} ({str(problem) or type(problem).__name__})."
            return [
                Finding("gateway", "warning", said, "Start it (`proctor gateway`), or say where it is with --gateway.")
            ]
    if card.status_code != 200:
        said = f"What answers at {url} has no agent card (status {card.status_code})."
        return [Finding("gateway", "problem", said, "Say with --gateway where the gateway is.")]
    clock = _clock("the gateway", card.headers, asked)
    if ready.status_code == 200:
        return [Finding("gateway", "ok", f"It answers at {url} and can serve."), *clock]
    told = {name: what for name, what in _json(ready).items() if name != "status" and what != "ok"}
    said = " ".join(str(what) for what in told.values()) or "it can't serve, and tells why to admins alone"
    return [Finding("gateway", "problem", f"It answers at {url}, but: {said}", "Mend what it names."), *clock]


async def look_at_provider(config: GreenAgentConfig) -> Finding:
    """Whether the keys of the identity provider can be read."""
    if not config.oidc_issuer:
        return Finding("oidc", "skipped", "No identity provider is set (AGENTBEATS_GREEN_OIDC_ISSUER).")
    problem = await Oidc(config).find_problem()
    if problem:
        return of_problem("oidc", problem)
    return Finding("oidc", "ok", f"The keys of {config.oidc_issuer} can be read.")


async def look_at_collector(_: GreenAgentConfig) -> Finding:
    """Whether traces that are asked for can be made and sent."""
    if not tracing.is_asked_for():
        return Finding("traces", "skipped", "No OTEL_… variable asks for them.")
    missing = tracing.find_missing()
    if missing:
        return Finding("traces", "problem", missing)
    endpoint = tracing.endpoint_of(os.environ)
    if endpoint is None:
        return Finding("traces", "ok", "They go to standard output.")
    parts = urlsplit(endpoint)
    port = parts.port or (443 if parts.scheme == "https" else 80)
    try:
        await asyncio.to_thread(lambda: socket.create_connection((parts.hostname or "", port), _SECONDS).close())
    except OSError as problem:
        said = f"Nobody takes them at {endpoint} ({problem.strerror or problem})."
        return Finding("traces", "warning", said, "Start the collector, or set OTEL_EXPORTER_OTLP_ENDPOINT.")
    return Finding("traces", "ok", f"A collector listens at {endpoint}.")


def _clock(whose: str, headers: Mapping[str, str], asked: float) -> list[Finding]:
    """From the Date of an answer, which is cut to whole seconds."""
    try:
        told = parsedate_to_datetime(headers["date"]).timestamp()
    except (KeyError, ValueError):
        return []
    early, late = told - time.time(), told + 1 - asked
    return [of_clock(whose, early if early > 0 else late if late < 0 else 0.0)]


def _json(answer: httpx.Response) -> dict[str, object]:
    try:
        said = answer.json()
    except ValueError:
        return {}
    return said if isinstance(said, dict) else {}
