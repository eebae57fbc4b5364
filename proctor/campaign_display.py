"""A campaign as a person follows it: a line for each cell that ends, and on a terminal one that moves."""

from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    SpinnerColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.table import Table
from rich.text import Text

from proctor.caller import Accepted, CallEvent, ConnectionBack, ConnectionLost, Said
from proctor.caller import Progress as ProgressEvent
from proctor.console import show
from proctor.phrases import clean, shorten
from proctor_protocol.campaigns import CampaignProgressUpdate, CampaignStartedUpdate, CellEndedUpdate, Tally
from proctor_protocol.terminal import FailureMode, TerminalResults
from proctor_protocol.updates import ErrorOccurredUpdate

_LABEL_WIDTH = 10
_LONGEST_WHY = 160


class CampaignDisplay:
    """Shows the events of one call; a context manager, since the moving line must be taken away at the end."""

    def __init__(self, console: Console, quiet: bool = False) -> None:
        self._console = console
        self._quiet = quiet
        self._moving = Progress(
            SpinnerColumn(),
            TextColumn("{task.description}"),
            BarColumn(bar_width=24),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn("to go"),
            TimeRemainingColumn(),
            console=console,
            transient=True,
            disable=quiet or not console.is_terminal,
        )
        self._task = self._moving.add_task("asking the gateway", total=None)
        self._told = ""

    def __enter__(self) -> Self:
        self._moving.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._moving.stop()

    def show(self, event: CallEvent) -> None:
        """Show one event."""
        match event:
            case Accepted(task_id=task_id, workflow_url=url):
                self._line("run", task_id)
                if url:
                    self._line("workflow", clean(url))
            case Said(sentence=sentence):
                self.say(clean(sentence))
            case ConnectionLost(problem=problem, retry_in=pause):
                self.say(f"connection lost ({shorten(problem, 70)}); trying again in {pause:g} s")
            case ConnectionBack():
                self.say("connected again")
            case ProgressEvent(update=CampaignStartedUpdate() as started):
                self._line(
                    "plays", f"{clean(started.title)}, {started.tally.total} to play, {clean(started.participant)}"
                )
                for warning in started.warnings:
                    self._line("warning", clean(warning), style="yellow")
                self._move(started.tally)
            case ProgressEvent(update=CellEndedUpdate() as ended):
                self._show_cell(ended)
                self._move(ended.tally)
            case ProgressEvent(update=CampaignProgressUpdate() as progress):
                self._move(progress.tally)
            case ProgressEvent(update=ErrorOccurredUpdate(recoverable=True) as problem):
                self._line("problem", clean(problem.sentence()), style="yellow")
            case _:
                return

    def say(self, sentence: str) -> None:
        """Show a sentence about the call itself, also when quiet; the same one once."""
        if sentence != self._told:
            self._console.print(Text(sentence, style="yellow"))
        self._told = sentence

    def _show_cell(self, ended: CellEndedUpdate) -> None:
        why = (
            f" {ended.failure_kind}: {shorten(clean(ended.failure or ''), _LONGEST_WHY)}" if ended.failure_kind else ""
        )
        verdict = "passed" if ended.succeeded else "again" if ended.again else "not passed"
        style = "green" if ended.succeeded else "yellow" if ended.again else "red"
        reward = f", {ended.score:.0%}" if ended.score not in (None, 0.0, 1.0) else ""
        self._line(verdict, f"{clean(ended.label)} ({ended.seconds:.1f} s{reward}){why}", style=style)

    def _move(self, tally: Tally) -> None:
        description = f"{tally.running} running, {tally.waiting} waiting, {tally.succeeded} passed"
        if tally.done:
            description += f", mean {tally.score / tally.done:.0%}"
        if tally.cost is not None:
            description += f", cost {tally.cost:.4g}"
        self._moving.update(self._task, description=description, completed=tally.done, total=tally.total)

    def _line(self, label: str, content: str, style: str = "") -> None:
        if not self._quiet:
            line = Text(f"{label:<{_LABEL_WIDTH}}  ", style="bold").append(content, style=style or "not bold")
            self._console.print(line, soft_wrap=True)


def print_table(console: Console, results: TerminalResults) -> None:
    """A run's results as a table: a row for each task, and the sums below."""
    table = Table(box=None, padding=(0, 2), pad_edge=False)
    for heading, justify in (("task", "left"), ("resolved", "right"), ("reward", "right"), ("time", "right")):
        table.add_column(heading, justify=justify)  # type: ignore[arg-type]
    table.add_column("failures", overflow="fold")
    by_task: dict[str, list[int]] = {}
    for number, trial in enumerate(results.results):
        by_task.setdefault(trial.task_id, []).append(number)
    for task_id, numbers in by_task.items():
        trials = [results.results[number] for number in numbers]
        resolved = sum(bool(trial.is_resolved) for trial in trials)
        rewards = [trial.reward if trial.reward is not None else float(bool(trial.is_resolved)) for trial in trials]
        seconds = [
            (trial.trial_ended_at - trial.trial_started_at).total_seconds()
            for trial in trials
            if trial.trial_ended_at and trial.trial_started_at
        ]
        modes = sorted({str(trial.failure_mode) for trial in trials if trial.failure_mode != FailureMode.NONE})
        table.add_row(
            Text(clean(task_id)),
            Text(f"{resolved}/{len(trials)}", style="green" if resolved == len(trials) else "red"),
            f"{sum(rewards) / len(rewards):.2f}",
            f"{sum(seconds) / len(seconds):.1f} s" if seconds else "",
            Text(", ".join(modes)),
        )
    console.print()
    show(console, table)
    console.print()
    interval = results.accuracy_interval.in_words().partition(" ")[2] if results.accuracy_interval else ""
    missing = f"; {results.n_missing} never played" if results.n_missing else ""
    console.print(
        Text(
            f"accuracy {results.accuracy:.1%} {interval}".rstrip()
            + f": {results.n_resolved} of {results.n_trials} trials resolved{missing}",
            style="bold",
        )
    )
    for k, share in results.pass_at_k.items():
        if k > 1:
            console.print(Text(f"pass@{k}    {share.in_words()}"))
