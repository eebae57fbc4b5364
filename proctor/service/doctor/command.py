"""``proctor doctor``: all parts are checked side by side and shown in a table."""

import asyncio
import json
import os
from collections import Counter
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import asdict
from functools import partial

from rich.box import SIMPLE_HEAD
from rich.table import Table
from rich.text import Text

from proctor.common.console import make_console, show
from proctor.common.errors import ExitCode
from proctor.common.settings import default_gateway
from proctor.service.doctor.environment import look_at_certificates, look_at_proxies
from proctor.service.doctor.findings import Finding, Look, State, take
from proctor.service.doctor.models import MODEL_SECONDS, list_models, look_at_model, look_at_participant
from proctor.service.doctor.places import look_at_confinement, look_at_disks, look_at_scenarios, look_at_store
from proctor.service.doctor.services import (
    look_at_collector,
    look_at_engine,
    look_at_gateway,
    look_at_provider,
    look_at_simulators,
    look_at_tokens,
)
from proctor.service.doctor.temporal import look_at_temporal
from proctor.settings.config import GATEWAY_VARIABLE, GreenAgentConfig, unknown_variables, validate_config
from purple_sdk.processes.addresses import in_url, own_host
from purple_sdk.processes.together import do_all

_MARKS: dict[State, tuple[str, str]] = {
    "ok": ("✓", "green"),
    "warning": ("!", "yellow"),
    "problem": ("✗", "bold red"),
    "skipped": ("–", "dim"),
}


def run_looks(looks: Sequence[Look], *, as_json: bool) -> ExitCode:
    """Check all parts side by side and show the findings."""
    console = make_console()
    most = max(look.seconds for look in looks)
    is_shown = console.is_terminal and not as_json
    with console.status(f"looking at {len(looks)} parts, each for {most:g} s at most") if is_shown else nullcontext():
        findings = asyncio.run(_all(looks))
    if as_json:
        print(json.dumps([asdict(finding) for finding in findings], indent=1, ensure_ascii=False))
    else:
        show(console, _table(findings))
        show(console, Text(_summary(findings)))
    return ExitCode.FAILED if any(finding.state == "problem" for finding in findings) else ExitCode.DONE


def list_looks(
    config: GreenAgentConfig, *, agents: Sequence[str] = (), gateway_url: str | None = None, asks_models: bool = True
) -> list[Look]:
    """The parts to check in a deployment with these settings.

    Args:
        agents: addresses of participants; if empty, the settings' example participant is checked.
        gateway_url: the gateway's address; None for the address in the environment, or else in the settings.
    """
    named = gateway_url or (default_gateway() if os.environ.get(GATEWAY_VARIABLE) else None)
    gateway = (named or f"http://{in_url(own_host(config.host))}:{config.port}").rstrip("/")
    participants = list(agents) or [config.example_participant_url]
    looks = [
        Look("settings", lambda: _settings(config)),
        Look("certificates", look_at_certificates),
        Look("proxies", lambda: look_at_proxies(config, gateway)),
        Look("temporal", lambda: look_at_temporal(config), config.connect_timeout + 15),
        Look("store", lambda: look_at_store(config.storage_url, "store"), 15),
        Look("archive", lambda: look_at_store(config.archive_url, "archive"), 15),
        Look("scenarios", lambda: look_at_scenarios(config)),
        Look("disk", lambda: look_at_disks(config)),
        Look("confinement", lambda: look_at_confinement(config)),
        Look("simulator", lambda: look_at_simulators(config)),
        Look("gateway", lambda: look_at_gateway(gateway), 15),
        Look("oidc", lambda: look_at_provider(config)),
        Look("tokens", lambda: look_at_tokens(config)),
        Look("engine", lambda: look_at_engine(config)),
        Look("traces", lambda: look_at_collector(config)),
    ]
    for (name, base_url), use in list_models(config).items():
        look = partial(look_at_model, name, base_url, use) if asks_models else partial(_skipped_model, name, use)
        looks.append(Look("model", look, MODEL_SECONDS))
    knocking = partial(look_at_participant, config=config, is_asked_for=bool(agents))
    return looks + [Look("participant", partial(knocking, url), config.connect_timeout + 5) for url in participants]


async def _all(looks: Sequence[Look]) -> list[Finding]:
    return [finding for findings in await do_all(*map(take, looks)) for finding in findings]


async def _settings(config: GreenAgentConfig) -> list[Finding]:
    warnings = validate_config(config)
    names = [
        f"{name} isn't a setting{f': did you mean {nearest}?' if nearest else ''}"
        for name, nearest in unknown_variables(os.environ).items()
    ]
    findings = [Finding("settings", "warning", f"{text[:1].upper()}{text[1:]}.") for text in [*warnings, *names]]
    return findings or [Finding("settings", "ok", "All of them are known, and fit.")]


async def _skipped_model(name: str, use: str) -> Finding:
    return Finding("model", "skipped", f"{name} ({use}) wasn't asked (--no-models).")


def _table(findings: Sequence[Finding]) -> Table:
    table = Table(box=SIMPLE_HEAD, pad_edge=False, show_edge=False)
    table.add_column("", width=1)
    table.add_column("part", no_wrap=True)
    table.add_column("what was found", ratio=1)
    table.add_column("s", justify="right", no_wrap=True)
    for finding in findings:
        mark, style = _MARKS[finding.state]
        cell = Text(finding.said)
        if finding.remedy:
            cell.append(f"\n→ {finding.remedy}", style="bold" if finding.state == "problem" else "")
        dim = "dim" if finding.state == "skipped" else ""
        table.add_row(Text(mark, style=style), Text(finding.part, style=dim), cell, f"{finding.seconds:.1f}")
    return table


def _summary(findings: Sequence[Finding]) -> str:
    count = Counter(finding.state for finding in findings)
    if count["problem"]:
        return f"\n{_number(count['problem'], 'problem')} to mend, {_number(count['warning'], 'warning')}."
    if count["warning"]:
        return f"\nAssessments can be played; {_number(count['warning'], 'warning')}."
    return "\nAll is well."


def _number(count: int, what: str) -> str:
    return f"{count or 'no'} {what}{'' if count == 1 else 's'}"
