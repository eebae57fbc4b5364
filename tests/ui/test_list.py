"""The Temporal UI's list of workflows, as a browser shows it that nobody has set up."""

from pathlib import Path

from purple_sdk.processes.ports import free_ports
from tests.stack import Stack, assess
from tests.ui.browser import temporal_ui
from tests.ui.test_reset import participating
from tests.work import only_nightly


@only_nightly  # by default: tests/a2a_gateway/test_sending.py, by the task's id
async def test_the_list_says_scenario_and_participant(stack: Stack, tmp_path: Path) -> None:
    (port,) = free_ports(1)
    async with participating(port, tmp_path / "participant") as participant:
        participant.go_on()
        await assess(stack, f"http://127.0.0.1:{port}", "tiny", max_turns=1)
    async with temporal_ui(stack.local.ui_url) as ui:
        await ui.open_list()
        await ui.require_row("Completed", f"-tiny-127-0-0-1-{port}")
