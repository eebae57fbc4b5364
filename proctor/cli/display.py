"""The display of a running assessment: a line for each phase and turn, and on a terminal a live line."""

from typing import Self

from rich.console import Console, RenderableType
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from proctor.client.caller import Accepted, CallEvent, ConnectionBack, ConnectionLost, Ended, GatewayMessage
from proctor.client.caller import Progress as ProgressEvent
from proctor.common.console import show
from proctor.common.phrases import clean, counted, phrases, shorten
from proctor.protocol.campaigns import CampaignUpdate, describe_update
from proctor.protocol.updates import (
    ActionObservedUpdate,
    AssessmentCompletedUpdate,
    AssessmentStartedUpdate,
    CriterionEvaluatedUpdate,
    ErrorOccurredUpdate,
    EvaluationStartedUpdate,
    ResponsesGeneratedUpdate,
    ScenarioLoadedUpdate,
    TaskUpdate,
    TurnCompletedUpdate,
    TurnStartedUpdate,
)

_LABEL_WIDTH = 9
_ACTION_LINES = 2
_UNSCORED = "points will stay unscored"  # part of the evaluator's warning of points that no model judges


_OfTurn = TurnStartedUpdate | ActionObservedUpdate | TurnCompletedUpdate | ResponsesGeneratedUpdate


class _Turn:
    def __init__(self, number: int, role: str | None = None) -> None:
        self.number = number
        self.role = role
        self.time = ""
        self.actions: list[ActionObservedUpdate] = []
        self.action_count: int | None = None
        self.answers = 0
        self.is_inherited = False
        self.is_last = False


class AssessmentDisplay:
    """Show the events of one call. It is a context manager, since the live line must be removed at the end.

    Args:
        console: the console to print on; without a terminal there are only complete lines and no control codes.
        has_warned: leave out the warning of points that stay unscored, since the command has already printed it.
    """

    def __init__(self, console: Console, quiet: bool = False, *, has_warned: bool = False) -> None:
        self._console = console
        self._has_warned = has_warned
        self._quiet = quiet
        self._turns: dict[str | None, _Turn] = {}  # by role; a single participant has None
        self._problem: ErrorOccurredUpdate | None = None
        self._lost_by = ""
        self._expected_turns = 0
        self._moving = Progress(
            SpinnerColumn(),
            TextColumn("{task.description}"),
            BarColumn(bar_width=24),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            console=console,
            transient=True,
            disable=quiet or not console.is_terminal,
        )
        self._task = self._moving.add_task("asking the gateway", total=None)

    def __enter__(self) -> Self:
        self._moving.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._end_turns()
        self._moving.stop()

    def show(self, event: CallEvent) -> None:
        match event:
            case Accepted(workflow_url=url):
                if url and not self._quiet:
                    # The address isn't wrapped, even on a narrow terminal: people click or copy it.
                    self._console.print(Text(f"{'workflow':<{_LABEL_WIDTH + 2}}{clean(url)}"), soft_wrap=True)
                self._move("waiting for its turn", None)
            case GatewayMessage(sentence=sentence):
                self.say(clean(sentence))
            case ConnectionLost(problem=problem, retry_in=pause, is_from_gateway=is_from_gateway):
                if problem != self._lost_by:
                    lost = clean(problem) if is_from_gateway else f"connection lost ({shorten(problem, 70)})"
                    self.say(f"{lost}; trying again in {pause:g} s")
                self._lost_by = problem
            case ConnectionBack():
                self._lost_by = ""
                self.say("connected again")
            case ProgressEvent(update=update):
                self._show_update(update)
            case Ended(state="completed"):
                # Drop other turns: they did finish, but the update was missed while the connection was lost.
                finished = {role: turn for role, turn in self._turns.items() if turn.action_count is not None}
                self._turns = finished

    def say(self, sentence: str) -> None:
        self._console.print(Text(sentence, style="yellow"))

    def _show_update(self, update: TaskUpdate | CampaignUpdate) -> None:
        match update:
            case AssessmentStartedUpdate():
                self._line("agent", Text(clean(update.participant_url)))
                if origin := update.forked_from:
                    self._line("fork", Text(f"from {clean(origin.in_words())}: {origin.inherited_in_words()}"))
                self._move("preparing the simulation", None)
            case ScenarioLoadedUpdate():
                self._expected_turns = update.expected_turns
                parts = [
                    counted(update.character_count, "character"),
                    counted(update.criteria_count, "criterion", "criteria"),
                    f"about {counted(update.expected_turns, 'turn')}",
                ]
                self._line("scenario", Text(f"{clean(update.scenario_name)}: {', '.join(parts)}"))
                for warning in update.warnings:
                    if self._has_warned and _UNSCORED in warning:
                        continue
                    self._line("warning", Text(clean(warning), style="yellow"))
            case TurnStartedUpdate():
                self._end_turn(update.role)
                self._begin_turn(update).time = f"{update.current_time:%a %H:%M}"
                self._move(f"turn {update.turn_number}, the agent's move", update.turn_number - 1)
            case ActionObservedUpdate():
                self._begin_turn(update).actions.append(update)
            case TurnCompletedUpdate():
                turn = self._begin_turn(update)
                turn.action_count = update.actions_taken
                turn.is_last = update.early_completion_requested
                turn.is_inherited = update.inherited_from is not None
                self._move(f"turn {update.turn_number}, characters and clock", update.turn_number)
            case ResponsesGeneratedUpdate():
                self._begin_turn(update).answers += update.responses_count
            case EvaluationStartedUpdate():
                self._end_turns()
                criteria = counted(update.criteria_count, "criterion", "criteria")
                self._line("judging", Text(f"{update.role}: {criteria}" if update.role else criteria))
                self._move("judging", 0, update.criteria_count)
            case CriterionEvaluatedUpdate():
                self._moving.advance(self._task)
            case AssessmentCompletedUpdate():
                self._end_turns()
                self._line("done", Text(f"{clean(update.sentence())} It took {update.duration_seconds:.1f} s."))
            case ErrorOccurredUpdate(recoverable=True):
                problem = self._repeated_problem(update) or clean(describe_update(update))
                self._line("problem", Text(problem, style="yellow"))
                self._problem = update
            case _:  # turns show the clock's steps; an error that ends the assessment is shown at the call's end
                return

    def _repeated_problem(self, update: ErrorOccurredUpdate) -> str | None:
        """Return a few words if a step failed again in the same way; otherwise None."""
        before = self._problem
        if before is None or update.attempt is None or before.attempt is None or update.attempt <= before.attempt:
            return None
        if (before.step, before.turn_number, before.error_type) != (update.step, update.turn_number, update.error_type):
            return None
        return f"the same at try {update.attempt}" + (f" of {update.attempts}" if update.attempts else "")

    def _begin_turn(self, update: _OfTurn) -> _Turn:
        turn = self._turns.get(update.role)
        if turn is None or turn.number != update.turn_number:
            self._end_turn(update.role)
            turn = self._turns[update.role] = _Turn(update.turn_number, update.role)
        return turn

    def _end_turns(self) -> None:
        for role in list(self._turns):
            self._end_turn(role)

    def _end_turn(self, role: str | None) -> None:
        turn = self._turns.pop(role, None)
        if turn is None:
            return
        width = len(str(self._expected_turns))
        number = f"{turn.number:>{width}}/{self._expected_turns}" if self._expected_turns else str(turn.number)
        named = f"{turn.time} {turn.role}" if turn.role else turn.time
        self._line(f"turn {number}", self._summary(turn, indent=len(number) + 10 + len(named)), extra=named)

    def _summary(self, turn: _Turn, indent: int) -> Text:
        """A summary of a turn, in at most ``_ACTION_LINES`` lines."""
        if turn.action_count is None:
            return Text("not finished", style="yellow")
        summary = Text(counted(turn.action_count, "action") if turn.action_count else "nothing done")
        if turn.is_inherited:
            return Text("inherited · ", style="dim").append_text(summary)
        room = max(self._console.width - indent, 20) * _ACTION_LINES - len(summary) - 20
        texts = phrases(turn.actions)
        for position, text in enumerate(texts):
            if len(text) + 3 > room and position:
                summary.append(f" · and {len(texts) - position} more", style="dim")
                break
            room -= len(text) + 3
            summary.append(" · ", style="dim").append(text)
        if turn.answers:
            summary.append(f" · {counted(turn.answers, 'answer')} to come", style="cyan")
        if turn.is_last:
            summary.append(" · the agent says it is finished", style="cyan")
        return summary

    def _line(self, label: str, content: RenderableType, extra: str = "") -> None:
        if self._quiet:
            return
        grid = Table.grid(padding=(0, 2))
        grid.add_column(no_wrap=True, min_width=_LABEL_WIDTH, style="bold")
        if extra:
            grid.add_column(no_wrap=True, style="dim")
        grid.add_column(overflow="fold")
        grid.add_row(*([label, extra, content] if extra else [label, content]))
        show(self._console, grid)

    def _move(self, description: str, completed: int | None, total: int | None = None) -> None:
        if completed is None:
            self._moving.update(self._task, description=description)
            return
        self._moving.update(
            self._task, description=description, completed=completed, total=total or self._expected_turns or None
        )
