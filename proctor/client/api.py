"""The Python API for notebooks, scripts and tests. ``import proctor`` has all of it.

The functions can be called with and without a running event loop, as in Jupyter. Errors are
``proctor.common.errors.CommandError`` and its subclasses; their messages say what to do.
"""

import asyncio
import json
import warnings
from collections.abc import Callable, Coroutine, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import aclosing
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from proctor.client.agent_names import agent_names, runs_of_agents
from proctor.client.caller import AssessmentCall, CallEvent, Ended
from proctor.client.following import require_completed
from proctor.client.run_settings import checked
from proctor.client.tables import Rows, make_rows, write_parquet
from proctor.common.errors import CommandError
from proctor.common.settings import default_gateway
from proctor.protocol.archive import ArchiveEntry
from proctor.protocol.runs import RunResults
from purple_sdk.protocol.results import AssessmentResults
from purple_sdk.protocol.statistics import Comparison, Summary

if TYPE_CHECKING:
    import pandas  # type: ignore[import-untyped]

    from proctor.storage.archive import Archive

T = TypeVar("T")

OnEvent = Callable[[CallEvent], None]
"""A function that is called with each event of a call: accepted, progress, connection lost or back, ended."""


def assess(
    agent: str,
    scenario: str,
    *,
    seed: int | None = None,
    difficulty: int | None = None,
    clock: str | None = None,
    noise: int | None = None,
    offline: bool = False,
    max_turns: int | None = None,
    turn_timeout: float | None = None,
    gateway: str | None = None,
    on_event: OnEvent | None = None,
) -> AssessmentResults:
    """Assess an agent in one scenario, and wait for the results.

    Args:
        agent: the address of its A2A server.
        scenario: the scenario's id, or a family's name.
        seed: decides all random choices, and which day a family makes. By default the gateway chooses a seed.
        difficulty: the difficulty of a family's day, 1 to 4. By default 2.
        clock: how simulated time passes during a turn. With ``fixed:5``, each request costs five simulated seconds.
            With ``measured``, the time that the agent takes passes. By default no time passes.
        noise: how often requests fail, or get outdated or incomplete answers, from 0 (never) to 3. By default 0.
        offline: judge without a model; points that need a model stay unscored.
        max_turns: end after this many turns. By default the scenario's time decides.
        turn_timeout: seconds that the agent has for a turn.
        gateway: the evaluator's address. By default ``AGENTBEATS_GATEWAY_URL``, else this machine's gateway.
        on_event: called with each event while the assessment runs.

    Returns:
        The results: scores, criteria, action log, models and costs.

    Raises:
        UnreachableError: no evaluator answers at ``gateway``.
        UsageError: the evaluator rejected the request.
        CommandError: the assessment failed or was cancelled.
    """
    request = assessment_request(agent, scenario, seed, offline, max_turns, turn_timeout, difficulty, clock, noise)
    exact = run_to_end(_play(request, "assessment", gateway, on_event))
    return AssessmentResults.model_validate_json(exact)


def run(
    agents: Mapping[str, str],
    scenarios: Sequence[str],
    *,
    seeds: Sequence[int] = (1,),
    difficulties: Sequence[int] = (),
    repeats: int = 1,
    gateway: str | None = None,
    on_event: OnEvent | None = None,
    **settings: Any,
) -> RunResults:
    """Play a campaign: each agent in each scenario with each seed, and wait for the results.

    Args:
        agents: agents' names, which results show, to their addresses.
        scenarios: the scenarios' ids, and families' names.
        seeds: the seeds with which each scenario is played.
        difficulties: the difficulties, 1 to 4, with which each family is played. By default 2.
        repeats: how often each agent plays each scenario with each seed.
        gateway: the evaluator's address. By default ``AGENTBEATS_GATEWAY_URL``, else this machine's gateway.
        on_event: called with each event while the campaign runs.
        settings: more of the campaign's settings (``offline``, ``judges``, ``max_cost``, …), as in ``campaign.toml``.

    Returns:
        The results: every run, means with intervals, and comparisons of the agents.

    Raises:
        UnreachableError: no evaluator answers at ``gateway``.
        UsageError: the evaluator rejected the request.
        CommandError: the campaign failed or was cancelled.
    """
    chosen = {"scenarios": list(scenarios), "seeds": list(seeds), "repeats": repeats, **settings}
    if difficulties:
        chosen["difficulties"] = list(difficulties)
    request = checked({"participants": dict(agents), "config": chosen}, "proctor.run")
    exact = run_to_end(_play(request.model_dump_json(exclude_unset=True), "campaign", gateway, on_event))
    return RunResults.model_validate_json(exact)


class Runs(Sequence[ArchiveEntry]):
    """Archived assessments and trials, the latest first. It is a sequence of ``ArchiveEntry``."""

    def __init__(self, entries: Sequence[ArchiveEntry], archive: "Archive") -> None:
        self._entries = entries
        self._archive = archive

    def __len__(self) -> int:
        return len(self._entries)

    def __getitem__(self, place: Any) -> Any:
        return self._entries[place]

    def rows(self) -> Rows:
        """A dictionary for each run: id, agent, scenario, seed, score, cost, …, and the points of each criterion.

        ``percent`` is the run's counted score. ``weight`` is the run's share in the mean of its agent.
        """
        return make_rows(self._archive, self._entries)

    def summaries(self) -> list[Summary]:
        """Each agent's means with their intervals, by scenario, dimension and criterion, as in a campaign's results.

        Forks are left out. An agent is called by its label, or ``LABEL=ADDRESS`` if several agents have that label.
        """
        from proctor.statistics import summaries

        entries = [entry for entry in self._entries if not entry.forked_from]
        return summaries(self._archive.collect_runs(entries, agent_names(entries)))

    def compare(self, first: str, second: str) -> Comparison:
        """Compute the first agent's advantage over the second, from the runs that both have played.

        Args:
            first: the name of an agent, or ``LABEL=ADDRESS`` if several agents have the same name.
            second: the name of the other agent.

        Raises:
            UsageError: no agent has one of the names, or several agents have it.
        """
        from proctor.statistics import compared

        return compared(first, second, runs_of_agents(self._archive, self._entries, (first, second)))

    def to_pandas(self) -> "pandas.DataFrame":
        """The rows as a data frame.

        Raises:
            CommandError: pandas is not installed.
        """
        try:
            import pandas
        except ImportError:
            raise CommandError("a data frame needs pandas: pip install pandas, or use rows()") from None
        return pandas.DataFrame(list(self.rows()))

    def to_parquet(self, path: str | Path) -> None:
        """Write the rows as a Parquet file.

        Raises:
            CommandError: pyarrow is not installed.
        """
        write_parquet(self.rows(), Path(path))


def runs(
    archive: str | None = None,
    *,
    scenario: str | None = None,
    agent: str | None = None,
    campaign: str | None = None,
    status: str | None = None,
    since: str | None = None,
    until: str | None = None,
    most: int | None = None,
) -> Runs:
    """Read assessments and trials from an archive. Damaged entries are left out, with a warning for each.

    Args:
        archive: a folder or an fsspec URL. By default the archive that the settings name.
        scenario: the scenario's id.
        agent: a part of the agent's name or address.
        campaign: the campaign's id.
        status: ``completed``, ``failed``, …
        since: the earliest beginning: a date, a time, or a period before now (``36h``, ``7d``).
        until: the latest beginning, in the same forms.
        most: the largest number of entries.

    Raises:
        UsageError: a value can't be read.
        StoreUnavailableError: the archive can't be read.
    """
    from proctor.client.opened_archive import make_query, open_archive

    kept, _ = open_archive(archive, None)
    query = make_query(scenario, agent, status, campaign, since, until)
    damaged = list[str]()
    entries = kept.in_full(kept.select(replace(query, most=most)), damaged)
    for sentence in damaged:
        warnings.warn(f"left out, since it is damaged: {sentence}", stacklevel=2)
    members = [entry for entry in entries if entry.kind != "campaign"]
    return Runs(members, kept)


def assessment_request(
    agent: str | Mapping[str, str],
    scenario: str,
    seed: int | None = None,
    offline: bool = False,
    max_turns: int | None = None,
    turn_timeout: float | None = None,
    difficulty: int | None = None,
    clock: str | None = None,
    noise: int | None = None,
) -> str:
    """A request for an assessment, as JSON.

    Args:
        agent: the participant's address. If there are several participants, their roles to their addresses.
        scenario: the scenario's id.
        seed: the seed of all random choices; None lets the evaluator draw a seed.
        offline: use no models.
        max_turns: the most turns; None for the scenario's number.
        turn_timeout: seconds that the participant has for a turn; None for the evaluator's own limit.
    """
    config: dict[str, Any] = {"scenario_id": scenario, "offline": offline, "verbose_updates": True}
    chosen = {
        "difficulty": difficulty,
        "clock": clock,
        "noise": noise,
        "seed": seed,
        "max_turns": max_turns,
        "turn_timeout": turn_timeout,
    }
    config.update({name: value for name, value in chosen.items() if value is not None})
    participants = {"personal_assistant": agent} if isinstance(agent, str) else dict(agent)
    return json.dumps({"participants": participants, "config": config})


async def _play(request: str, what: str, gateway: str | None, on_event: OnEvent | None) -> bytes:
    async with AssessmentCall(gateway or default_gateway(), request) as call:
        try:
            async with aclosing(call.events()) as events:
                async for event in events:
                    if on_event is not None:
                        on_event(event)
                    if isinstance(event, Ended):
                        require_completed(event, what)
                        assert event.results is not None
                        return event.results
        except asyncio.CancelledError:  # Ctrl-C
            await call.cancel()
            raise
    raise CommandError("the gateway's stream ended without an outcome")


def run_to_end(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine to its end, in a new thread if this one has a running event loop."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, work).result()
