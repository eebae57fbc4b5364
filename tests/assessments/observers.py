"""What an assessment leaves behind, seen from outside."""

from activities.keys import host_key
from purple_sdk.ues import AsyncUESHost
from tests.stack import Stack


async def simulations_left(stack: Stack) -> list[str]:
    """The ids of the simulations on the simulator."""
    async with AsyncUESHost(stack.ues_url, host_key(stack.config.secret.get_secret_value())) as host:
        return [simulation["simulation_id"] for simulation in (await host.list())["simulations"]]
