"""``proctor gateway``: run the gateway, which callers talk to by A2A."""

from proctor.commands.options import (
    CardUrlOption,
    HostOption,
    OpenOption,
    PortOption,
    StateOption,
    StorageOption,
    TemporalOption,
)


def gateway(
    host: HostOption = None,
    port: PortOption = None,
    card_url: CardUrlOption = None,
    temporal_address: TemporalOption = None,
    storage_url: StorageOption = None,
    state: StateOption = None,
    is_open: OpenOption = False,
) -> None:
    """Run the gateway, which callers talk to by A2A."""
    from proctor.services import run_gateway

    run_gateway(host, port, card_url, temporal_address, storage_url, state, is_open)
