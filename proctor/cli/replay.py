"""``proctor replay``: find the Temporal that has an assessment, and ask the person before a reset."""

import sys

import httpx
from temporalio.client import Client

from proctor.a2a_gateway.temporal import TEMPORAL_PATH
from proctor.client.caller import authorization
from proctor.client.replay import ResetPoint
from proctor.common.errors import UnreachableError, UsageError
from proctor.common.settings import read_settings, with_connection
from proctor.settings.config import GreenAgentConfig
from proctor.storage.temporal import TemporalUnreachableError, connect
from purple_sdk.processes.http_clients import make_http_client
from purple_sdk.settings.config import merge_configs

_GATEWAY_SECONDS = 10.0


def require_agreement(task_id: str, point: ResetPoint) -> None:
    if not sys.stdin.isatty():
        raise UsageError(f"{task_id} is completed: --yes resets it, and a new result takes the place of its own")
    print(f"{task_id} is completed. Have a new result, from {point.name} on, take the place of its own? [y/N] ", end="")
    sys.stdout.flush()
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise UsageError("nothing was reset")


async def connect_to_engine(gateway_url: str, temporal_address: str | None) -> Client:
    """Connect to the Temporal that the flag or the environment names, else to that of the gateway."""
    config = with_connection(read_settings(GreenAgentConfig, temporal_address=temporal_address), temporal_address)
    is_named = "temporal_address" in config.model_fields_set
    if not is_named:
        config = merge_configs(config, await _fetch_temporal_address(gateway_url))
    try:
        return await connect(config)
    except TemporalUnreachableError as error:
        remedy = "" if is_named else "; where you reach it at another address, name that with --temporal-address"
        raise UnreachableError(f"{error}{remedy}") from None


async def _fetch_temporal_address(gateway_url: str) -> dict[str, str]:
    """The settings of the gateway's Temporal, as the gateway reports them."""
    try:
        async with make_http_client(timeout=_GATEWAY_SECONDS, headers=authorization()) as http:
            answer = await http.get(f"{gateway_url.rstrip('/')}{TEMPORAL_PATH}")
            named = answer.raise_for_status().json()
            return {"temporal_address": str(named["address"]), "temporal_namespace": str(named["namespace"])}
    except (httpx.HTTPError, httpx.InvalidURL, ValueError, KeyError, TypeError) as error:
        raise UnreachableError(
            f"the gateway at {gateway_url} doesn't say where its Temporal is ({error or type(error).__name__}): "
            "give its address with --gateway, or Temporal's with --temporal-address"
        ) from None
