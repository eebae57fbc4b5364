"""``proctor follow`` and ``proctor cancel``: an assessment that somebody else asked for, by its id."""

import asyncio
import signal
import sys

from proctor.assess import AssessOptions
from proctor.assess import follow as show
from proctor.caller import AssessmentCall
from proctor.console import make_console
from proctor.errors import ExitCode


def run_follow(gateway_url: str, name: str) -> ExitCode:
    """Show an assessment from its first update to its end; Ctrl-C leaves it alone.

    Raises:
        CommandError: of the kind that says how it ended, or why it can't be followed.
    """
    return asyncio.run(_follow(gateway_url, name))


async def _follow(gateway_url: str, name: str) -> ExitCode:
    left = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, left.set)
    task_id = await _find(gateway_url, name)
    options = AssessOptions(scenario_id="", agent_url="", gateway_url=gateway_url)
    call = AssessmentCall.of_task(gateway_url, task_id)
    following = asyncio.create_task(show(options, make_console(sys.stdout), asyncio.Event(), call))
    leaving = asyncio.create_task(left.wait())
    await asyncio.wait({following, leaving}, return_when=asyncio.FIRST_COMPLETED)
    leaving.cancel()
    if following.done():
        return following.result()
    following.cancel()
    await asyncio.gather(following, return_exceptions=True)
    print(f"{task_id} goes on: `proctor follow {task_id}` joins it again")
    return ExitCode.DONE


def run_cancel(gateway_url: str, name: str) -> None:
    """Cancel an assessment.

    Raises:
        CommandError: it is not known, has ended, or the gateway doesn't confirm it.
    """
    print(f"{asyncio.run(_cancel(gateway_url, name))} is cancelled")


async def _cancel(gateway_url: str, name: str) -> str:
    task_id = await _find(gateway_url, name)
    async with AssessmentCall.of_task(gateway_url, task_id) as call:
        await call.require_canceled()
    return task_id


async def _find(gateway_url: str, name: str) -> str:
    async with AssessmentCall.of_task(gateway_url, name) as call:
        return await call.find(name)
