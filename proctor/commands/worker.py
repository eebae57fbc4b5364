"""``proctor worker``: run a worker, which plays assessments."""

from typing import Annotated

import typer

from proctor.commands.options import ScenariosOption, StateOption, StorageOption, TemporalOption, UesUrlOption


def worker(
    temporal_address: TemporalOption = None,
    ues_url: UesUrlOption = None,
    scenarios_dir: ScenariosOption = None,
    storage_url: StorageOption = None,
    state: StateOption = None,
    processes: Annotated[
        int | None,
        typer.Option(
            metavar="N", min=1, max=256, help="How many processes work.  [default: as many as there are cores]"
        ),
    ] = None,
) -> None:
    """Run a worker, which plays assessments."""
    from proctor.services import run_worker

    run_worker(temporal_address, ues_url, scenarios_dir, storage_url, state, processes)
