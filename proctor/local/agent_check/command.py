"""``proctor check-agent URL``: an agent's passed and failed checks, with a fix for each failed one."""

import asyncio
import json
from urllib.parse import urlsplit

from rich.console import Console
from rich.text import Text

from proctor.common.console import make_console, plain_table, show
from proctor.common.errors import ExitCode, UsageError, ending_as
from proctor.common.phrases import clean, counted
from proctor.common.settings import LOOPBACK, read_settings
from proctor.local.agent_check.checks import Finding, Judgement, find_all
from proctor.local.agent_check.playing import Play
from proctor.local.agent_check.watch import Watch
from proctor.local.harness_runs import HarnessChoice, serving_harness
from proctor.local.own_simulator import own_simulator
from proctor.settings.config import GreenAgentConfig

SETTLE = 0.5
"""Seconds."""
_MARKS: dict[Judgement, str] = {"right": "green", "wrong": "bold red", "not seen": "dim"}


def check_agent(
    url: str, *, timeout: float, host: str | None, as_json: bool, harness: HarnessChoice | None = None
) -> ExitCode:
    """Play the miniature assessment with an agent and print the findings; return 1 if anything is wrong.

    Args:
        timeout: seconds that the agent has for each message.
        host: the address of this machine at which the agent finds the simulator; None for the loopback address.
        harness: a CLI agent that is started and checked, in place of the agent at ``url``.

    Raises:
        UsageError: ``url`` isn't an address, or no server can listen at ``host``.
        UnreachableError: no server answers at the agent's address.
    """
    if harness is not None:

        async def check() -> ExitCode:
            async with serving_harness(harness) as url:
                return await asyncio.to_thread(check_agent, url, timeout=timeout, host=host, as_json=as_json)

        return asyncio.run(check())
    if urlsplit(url).scheme not in ("http", "https") or not urlsplit(url).hostname:
        raise UsageError(f'"{url}" is not an address of an agent: write it as http://localhost:8001')
    findings = look_at(url, read_settings(GreenAgentConfig), timeout, host or LOOPBACK)
    wrong = [finding for finding in findings if finding.judgement == "wrong"]
    if as_json:
        outcome = {"agent": url, "passed": not wrong, "findings": [finding.model_dump() for finding in findings]}
        print(json.dumps(outcome, indent=2, ensure_ascii=False))
    else:
        _print(make_console(), findings)
    return ExitCode.FAILED if wrong else ExitCode.DONE


def look_at(
    url: str, settings: GreenAgentConfig, timeout: float, host: str = LOOPBACK, settle: float = SETTLE
) -> list[Finding]:
    """All findings about the agent at an address.

    Args:
        timeout: seconds that the agent has for each message.
        host: the address of this machine at which the agent finds the simulator.

    Raises:
        UsageError, UnreachableError: as in ``check_agent``.
    """
    watch = Watch()
    with ending_as(UsageError, OSError), own_simulator(settings, host, watch.wrap) as config:
        return find_all(asyncio.run(Play(url.rstrip("/"), config, watch, timeout, settle).play()))


def _print(console: Console, findings: list[Finding]) -> None:
    table = plain_table()
    for name in ("check", ""):
        table.add_column(name, no_wrap=True)
    table.add_column("looked for, and seen", overflow="fold")
    for finding in findings:
        cell = Text(finding.looked_for)
        cell.append(f"\n{clean(finding.seen)}", style="" if finding.judgement == "wrong" else "dim")
        if finding.fix is not None:
            cell.append(f"\nFix: {finding.fix}", style="yellow")
        table.add_row(finding.check, Text(finding.judgement, style=_MARKS[finding.judgement]), cell)
    show(console, table)
    wrong = sum(finding.judgement == "wrong" for finding in findings)
    unseen = sum(finding.judgement == "not seen" for finding in findings)
    unseen_note = f", {unseen} not seen" if unseen else ""
    verdict = f"{counted(wrong, 'thing')} to mend" if wrong else "nothing to mend"
    console.print(Text(f"\n{verdict} ({counted(len(findings), 'check')}{unseen_note})", style="bold"))
