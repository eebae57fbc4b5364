"""Checks of certificates and proxies in the environment."""

import asyncio
import os

import httpx

from proctor.activities.simulation.addresses import known_addresses
from proctor.service.doctor.findings import Finding, sentence
from proctor.settings.config import GreenAgentConfig
from purple_sdk.processes.addresses import in_url
from purple_sdk.processes.environment import BadEnvironmentError
from purple_sdk.processes.http_clients import find_proxy, tls

_NAMES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")
_SECONDS = 3.0


async def look_at_certificates() -> list[Finding]:
    """Check that HTTPS connections have trusted certificates; report only problems."""
    try:
        tls()
    except BadEnvironmentError as error:
        return [Finding("certificates", "problem", sentence(str(error)))]
    return []


async def look_at_proxies(config: GreenAgentConfig, gateway: str) -> list[Finding]:
    """Check the environment's proxies: whether they answer, and which of our services are behind them."""
    named = {name: os.environ.get(name.lower()) or os.environ.get(name) for name in _NAMES}
    findings = [found for name, proxy in named.items() if proxy and (found := await _check_proxy(name, proxy))]
    simulators = [] if config.ues_command else await known_addresses(config)
    behind = [url for url in (*simulators, gateway) if find_proxy(url)]
    findings += [
        Finding(
            "proxies",
            "warning",
            f"Requests to {url} go by the proxy of the environment, with this deployment's keys.",
            f"Add {httpx.URL(url).host} to NO_PROXY, unless it is reached by the proxy only.",
        )
        for url in behind
    ]
    if findings or not any(named.values()):
        return findings
    names = ", ".join(name for name, proxy in named.items() if proxy)
    return [Finding("proxies", "ok", f"{names}: they answer, and no service of this deployment is behind them.")]


async def _check_proxy(name: str, proxy: str) -> Finding | None:
    remedy = f"Mend {name}, or unset it."
    try:
        url = httpx.URL(proxy if "://" in proxy else f"http://{proxy}")
    except httpx.InvalidURL:
        return Finding("proxies", "warning", f"{name} isn't an address.", remedy)  # it may contain a password
    port = url.port or (443 if url.scheme == "https" else 80)
    try:
        async with asyncio.timeout(_SECONDS):
            _, writer = await asyncio.open_connection(url.host, port)
        writer.close()
    except (OSError, TimeoutError):
        said = f"The proxy of {name} at {in_url(url.host)}:{port} doesn't answer."
        return Finding("proxies", "warning", said, remedy)
    return None
