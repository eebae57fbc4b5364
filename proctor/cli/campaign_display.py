"""The display of a running campaign: a line for each cell that ends, and on a terminal a live table."""

from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Self

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.spinner import Spinner
from rich.table import Table
from rich.text import Text

from proctor.client.caller import Accepted, CallEvent, ConnectionBack, ConnectionLost, GatewayMessage
from proctor.client.caller import Progress as ProgressEvent
from proctor.common.console import plain_table, show
from proctor.common.phrases import clean, comparison_in_words, shorten
from proctor.protocol.campaigns import CampaignProgressUpdate, CampaignStartedUpdate, CellEndedUpdate, Tally
from proctor.protocol.updates import ErrorOccurredUpdate
from purple_sdk.protocol.terminal import FailureMode, TerminalResults, TrialResult

_LABEL_WIDTH = 10
_LONGEST_WHY = 160
_BAR_WIDTH = 24
_LONGEST_GROUP = 60
_COLUMNS_BESIDE = 36  # width of the numbers beside a group's name
_LINES_BESIDE = 8  # lines of a terminal that the table of groups leaves free


@dataclass
class _Group:
    total: int
    done: int = 0
    passed: int = 0
    failed: int = 0
    scores: list[float] = field(default_factory=list)

    def note(self, ended: CellEndedUpdate) -> None:
        self.done += 1
        self.passed += ended.succeeded
        self.failed += ended.failure_kind is not None
        if ended.score is not None:
            self.scores.append(ended.score)


_BUILD_LINES = 30  # lines of a failed build that are printed


class CampaignDisplay:
    """Show the events of one call. It is a context manager, since the live table must be removed at the end."""

    def __init__(self, console: Console, quiet: bool = False) -> None:
        self._console = console
        self._quiet = quiet
        self._groups: dict[str, _Group] = {}
        self._tally = Tally()
        self._taken_over = 0
        self._started_at: datetime | None = None
        self._spinner = Spinner("dots")
        self._asking = Spinner("dots", text="asking the gateway")
        self._live: Live | None = None
        if console.is_terminal and not quiet:
            self._live = Live(get_renderable=self._moving, console=console, transient=True, refresh_per_second=8)
        self._last_sentence = ""

    def __enter__(self) -> Self:
        if self._live:
            self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._live:
            self._live.stop()

    def show(self, event: CallEvent) -> None:
        match event:
            case Accepted(task_id=task_id, workflow_url=url):
                self._line("campaign", task_id)
                if url:
                    self._line("workflow", clean(url))
            case GatewayMessage(sentence=sentence):
                self.say(clean(sentence))
            case ConnectionLost(problem=problem, retry_in=pause):
                self.say(f"connection lost ({shorten(problem, 70)}); trying again in {pause:g} s")
            case ConnectionBack():
                self.say("connected again")
            case ProgressEvent(update=CampaignStartedUpdate() as started):
                self._begin(started)
            case ProgressEvent(update=CellEndedUpdate() as ended):
                self._show_cell(ended)
            case ProgressEvent(update=CampaignProgressUpdate() as progress):
                self._tally = progress.tally
            case ProgressEvent(update=ErrorOccurredUpdate(recoverable=True) as problem):
                self._line("problem", clean(problem.sentence()), style="yellow")
            case _:
                return

    def say(self, sentence: str) -> None:
        """Show a sentence about the call itself, even if quiet. A repeated sentence is shown once."""
        if sentence != self._last_sentence:
            self._console.print(Text(sentence, style="yellow"))
        self._last_sentence = sentence

    def _begin(self, started: CampaignStartedUpdate) -> None:
        self._tally, self._started_at = started.tally, started.start_time
        self._taken_over = started.tally.done
        self._groups = {name: _Group(total) for name, total in started.groups.items()}
        more = f", {self._taken_over} of them taken over" if self._taken_over else ""
        self._line("plays", f"{clean(started.title)}, {started.tally.total} in all{more}, {clean(started.participant)}")
        for warning in started.warnings:
            self._line("warning", clean(warning), style="yellow")

    def _show_cell(self, ended: CellEndedUpdate) -> None:
        self._tally = ended.tally
        if ended.group in self._groups and not ended.again:
            self._groups[ended.group].note(ended)
        why = (
            f" {ended.failure_kind}: {shorten(clean(ended.failure or ''), _LONGEST_WHY)}" if ended.failure_kind else ""
        )
        verdict = "passed" if ended.succeeded else "again" if ended.again else "failed" if why else "not passed"
        style = "green" if ended.succeeded else "yellow" if ended.again else "red"
        reward = f", {ended.score:.0%}" if ended.score is not None and not ended.failure_kind else ""
        self._line(verdict, f"{clean(ended.label)} ({ended.seconds:.1f} s{reward}){why}", style=style)

    def _moving(self) -> RenderableType:
        tally = self._tally
        if not self._started_at:
            return self._asking
        line = Table.grid(padding=(0, 1))
        line.add_row(
            self._spinner,
            ProgressBar(total=max(tally.total, 1), completed=tally.done, width=_BAR_WIDTH),
            Text(", ".join(self._in_words(self._started_at))),
        )
        return Group(*self._table(), line)

    def _in_words(self, started_at: datetime) -> list[str]:
        tally = self._tally
        words = [f"{tally.done} of {tally.total} done", f"{tally.running} running", f"{tally.succeeded} passed"]
        words += [f"{tally.failed} failed"] if tally.failed else []
        words += [f"mean {tally.mean:.0%}"] if tally.mean is not None else []
        words += [f"cost {tally.cost_text}"] if tally.cost_text else []
        elapsed = max((datetime.now(UTC) - started_at).total_seconds(), 0.0)
        words.append(_clock(elapsed))
        played = tally.done - self._taken_over
        if played > 0 and tally.done < tally.total:
            words.append(f"{_clock(elapsed / played * (tally.total - tally.done))} to go")
        return words

    def _table(self) -> list[RenderableType]:
        """A row for each group, as far as there is room. Groups with running cells come before those that are done."""
        if len(self._groups) < 2:
            return []
        table = plain_table(header_style="dim")
        table.add_column("", no_wrap=True)
        for heading in ("done", "passed", "failed", "mean"):
            table.add_column(heading, justify="right", no_wrap=True)
        ordered = sorted(self._groups.items(), key=lambda group: group[1].done >= group[1].total)
        room = max(self._console.height - _LINES_BESIDE, 1)
        longest = max(min(_LONGEST_GROUP, self._console.width - _COLUMNS_BESIDE), 10)
        for name, group in ordered[:room]:
            table.add_row(
                Text(shorten(clean(name), longest)),
                f"{group.done}/{group.total}",
                Text(str(group.passed), style="green" if group.passed else ""),
                Text(str(group.failed), style="red" if group.failed else ""),
                f"{sum(group.scores) / len(group.scores):.0%}" if group.scores else "",
            )
        if len(ordered) > room:
            table.add_row(f"and {len(ordered) - room} more")
        return [table]

    def _line(self, label: str, content: str, style: str = "") -> None:
        if not self._quiet:
            line = Text(f"{label:<{_LABEL_WIDTH}}  ", style="bold").append(content, style=style or "not bold")
            self._console.print(line, soft_wrap=True)


def _clock(seconds: float) -> str:
    """A duration as a clock shows it: ``4:05``, ``1:02:03``."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def print_table(console: Console, results: TerminalResults) -> None:
    several = len(results.by_agent) > 1
    table = Table(box=None, padding=(0, 2), pad_edge=False)
    if several:
        table.add_column("agent")
    for heading, justify in (("task", "left"), ("resolved", "right"), ("reward", "right"), ("time", "right")):
        table.add_column(heading, justify=justify)  # type: ignore[arg-type]
    table.add_column("failures", overflow="fold")
    by_task: dict[tuple[str, str], list[int]] = {}
    for number, trial in enumerate(results.results):
        by_task.setdefault((trial.participant, trial.task_id), []).append(number)
    for (agent, task_id), numbers in sorted(by_task.items()):
        trials = [results.results[number] for number in numbers]
        resolved = sum(bool(trial.is_resolved) for trial in trials)
        rewards = [trial.reward if trial.reward is not None else float(bool(trial.is_resolved)) for trial in trials]
        seconds = [
            (trial.trial_ended_at - trial.trial_started_at).total_seconds()
            for trial in trials
            if trial.trial_ended_at and trial.trial_started_at
        ]
        doubtful = sum(bool(trial.doubts) for trial in trials)
        modes = sorted({str(trial.failure_mode) for trial in trials if trial.failure_mode != FailureMode.NONE})
        table.add_row(
            *([Text(clean(agent))] if several else []),
            Text(clean(task_id)),
            Text(f"{resolved}/{len(trials)}", style="green" if resolved == len(trials) else "red"),
            f"{sum(rewards) / len(rewards):.2f}",
            f"{sum(seconds) / len(seconds):.1f} s" if seconds else "",
            Text(", ".join([*modes, *([f"{doubtful} doubtful"] if doubtful else [])])),
        )
    console.print()
    show(console, table)
    console.print()
    missing = f"; {results.n_missing} never played" if results.n_missing else ""
    if several:
        for result in results.by_agent:
            cost = f", cost {result.cost_text}" if result.cost_text else ""
            accuracy = (
                f"accuracy {result.accuracy.in_words()}: {result.n_resolved} of {result.n_trials} trials resolved{cost}"
            )
            console.print(Text(f"{clean(result.agent)}: {accuracy}", style="bold"), soft_wrap=True)
        for comparison in results.comparisons:
            for line in comparison_in_words(comparison):
                console.print(Text(line), soft_wrap=True)
        if missing:
            console.print(Text(missing[2:]))
    else:
        interval = results.accuracy_interval.in_words().partition(" ")[2] if results.accuracy_interval else ""
        console.print(
            Text(
                f"accuracy {results.accuracy:.1%} {interval}".rstrip()
                + f": {results.n_resolved} of {results.n_trials} trials resolved{missing}",
                style="bold",
            )
        )
    if results.stopped:
        console.print(Text(results.stopped, style="yellow"), soft_wrap=True)
    if results.n_doubtful:
        console.print(Text(results.doubts_in_words(), style="yellow"))
    for result in results.by_agent:
        for k, share in result.pass_at_k.items():
            if k > 1:
                whose = f"{clean(result.agent)}: " if several else ""
                console.print(Text(f"{whose}pass@{k}    {share.in_words()}"))


def build_failures(results: TerminalResults) -> list[TrialResult]:
    first_of_task: dict[str, TrialResult] = {}
    for trial in results.results:
        if trial.details.get("build_failed"):
            first_of_task.setdefault(trial.task_id, trial)
    return list(first_of_task.values())


def print_build_failures(console: Console, failed: list[TrialResult]) -> None:
    for trial in failed:
        console.print(Text(f"\n{clean(trial.task_id)}: {clean(trial.failure or '')}", style="red"), soft_wrap=True)
        for line in str(trial.details.get("log") or "").splitlines()[-_BUILD_LINES:]:
            console.print(Text(f"    {clean(line)}"), soft_wrap=True)
