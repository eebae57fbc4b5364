"""What a person sees of an assessment: on recorded updates of a real one, and on some that were made up."""

import io
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from pydantic import TypeAdapter
from rich.console import Console
from rich.text import Text

from proctor.cli.campaign_display import CampaignDisplay, build_failures, print_build_failures
from proctor.cli.display import AssessmentDisplay
from proctor.cli.report import print_report
from proctor.cli.terminal_commands import require_built
from proctor.cli.under_way_commands import UnderWayDisplay
from proctor.client.caller import Accepted, ConnectionBack, ConnectionLost, GatewayMessage, Progress
from proctor.common.console import make_console, plain_table, show
from proctor.common.errors import CommandError
from proctor.common.phrases import clean, phrases, shorten
from proctor.protocol.campaigns import CampaignStartedUpdate, CellEndedUpdate, Tally
from proctor.protocol.losses import losses
from proctor.protocol.updates import (
    ActionObservedUpdate,
    ErrorOccurredUpdate,
    EvaluationStartedUpdate,
    TaskUpdate,
    TurnCompletedUpdate,
    TurnStartedUpdate,
)
from purple_sdk.processes.announcing import announce
from purple_sdk.protocol.provenance import ModelUse, Provenance
from purple_sdk.protocol.results import (
    DIMENSIONS,
    ActionReport,
    AssessmentResults,
    CriterionResult,
    Doubt,
    ReportedAction,
    RoleResults,
    assessment_results,
)
from purple_sdk.protocol.terminal import TerminalResults, TrialResult
from tests.sentences import says

RECORDED = Path(__file__).parent / "recorded"
NOON = datetime(2026, 3, 10, 12, tzinfo=UTC)
URL = "http://127.0.0.1:8233/namespaces/default/workflows/46f2a1cb-5d53-5775-8f75-b3d22b7b9bbd"

MOVING = re.compile(r"[⠀-⣿]( [━╸╺]+)?|\d+:\d\d:\d\d")
"""A bar and its clock."""


def recorded_updates() -> list[TaskUpdate]:
    read = TypeAdapter[TaskUpdate](TaskUpdate).validate_json
    return [read(line) for line in (RECORDED / "updates.jsonl").read_text().splitlines()]


def recorded_results() -> AssessmentResults:
    return AssessmentResults.model_validate_json((RECORDED / "results.json").read_text())


def console(width: int = 120, *, is_terminal: bool = False) -> Console:
    return Console(file=io.StringIO(), width=width, force_terminal=is_terminal, highlight=False, emoji=False)


def written(to: Console) -> str:
    assert isinstance(to.file, io.StringIO)
    return to.file.getvalue()


def shown(updates: list[TaskUpdate], width: int = 120, *, quiet: bool = False) -> list[str]:
    to = console(width)
    with AssessmentDisplay(to, quiet) as display:
        for update in updates:
            display.show(Progress(update))
    return written(to).splitlines()


def observed(action: str, turn: int = 1, **parameters: Any) -> ActionObservedUpdate:
    return ActionObservedUpdate(turn_number=turn, timestamp=NOON, action=action, parameters=parameters, success=True)


def started(turn: int = 1) -> TurnStartedUpdate:
    return TurnStartedUpdate(turn_number=turn, current_time=NOON, events_processed=0)


def completed(turn: int = 1, actions: int = 0, *, early: bool = False) -> TurnCompletedUpdate:
    return TurnCompletedUpdate(
        turn_number=turn, actions_taken=actions, time_advanced="PT1H", early_completion_requested=early
    )


def test_a_recorded_assessment_is_told_phase_by_phase() -> None:
    lines = shown(recorded_updates())
    assert lines[0] == "agent      http://127.0.0.1:39253"
    assert lines[1] == says("17", "19")
    turns = [line for line in lines if line.startswith("turn ")]
    assert [line[:21] for line in turns] == [
        "turn 1/3   Tue 07:00 ",
        "turn 2/3   Tue 08:00 ",
        "turn 3/3   Tue 09:00 ",
    ]
    assert says("07:00", "email.label").within(turns[0])
    assert "judging    19 criteria" in lines
    assert says().within(lines[-1])


@pytest.mark.parametrize("width", [60, 80, 120, 200])
def test_no_line_is_wider_than_the_output_and_none_has_control_codes(width: int) -> None:
    to = console(width)
    with AssessmentDisplay(to) as display:
        for update in recorded_updates():
            display.show(Progress(update))
    print_report(to, recorded_results())
    text = written(to)
    assert "\x1b" not in text
    assert max(map(len, text.splitlines())) <= width
    assert not any(line.endswith(" ") for line in text.splitlines())


def test_the_next_try_that_fails_of_the_same_is_told_in_few_words() -> None:
    def failed(attempt: int, kind: str = "RateLimit", step: str = "advance") -> ErrorOccurredUpdate:
        return ErrorOccurredUpdate(
            error_type=kind,
            error_message=f"{step} failed at try {attempt} of 12 and is tried again: {kind}",
            turn_number=3,
            recoverable=True,
            step=step,
            attempt=attempt,
            attempts=12,
        )

    of_no_step = ErrorOccurredUpdate(error_type="ParticipantFailed", error_message="Oops.", recoverable=True)
    lines = shown([failed(4), failed(5), failed(6, "Timeout"), failed(1, "Timeout"), of_no_step, of_no_step])
    assert lines == [
        says("12"),
        says("12"),
        says("12"),
        says("12"),
        "problem    Error: Oops.",
        "problem    Error: Oops.",
    ]


def test_what_the_gateway_says_is_shown_whole_and_once() -> None:
    sentence = "No worker has taken this assessment for over 10 s: it goes on by itself as soon as one runs."
    away = "Temporal can't serve this request now (it has been away for longer than anybody can wait): repeat it later."
    to = console()
    with AssessmentDisplay(to, quiet=True) as display:
        display.show(GatewayMessage(sentence))
        for pause in (0.5, 1.0, 2.0):
            display.show(ConnectionLost(away, pause, is_from_gateway=True))
        display.show(ConnectionBack())
    assert " ".join(written(to).split()) == says("0.5", sentence=sentence, away=away)


def test_what_ends_the_assessment_is_left_to_the_call_s_last_word() -> None:
    assert shown([ErrorOccurredUpdate(error_type="ParticipantFailed", error_message="Oops.")]) == []


def test_quiet_says_nothing_of_progress_and_all_of_problems() -> None:
    assert shown(recorded_updates(), quiet=True) == []
    to = console()
    with AssessmentDisplay(to, quiet=True) as display:
        display.show(ConnectionLost("it broke", 0.5))
        display.show(ConnectionBack())
    assert written(to).splitlines() == [says("0.5"), "connected again"]


def test_a_terminal_gets_a_moving_line_that_is_gone_at_the_end() -> None:
    to = console(80, is_terminal=True)
    with AssessmentDisplay(to) as display:
        for update in recorded_updates()[:5]:
            display.show(Progress(update))
        display._moving.refresh()
        assert says("turn 1,", moving=MOVING).within(written(to))
        assert "0/3" in written(to)
    assert written(to).rstrip().endswith("\x1b[2K")


def test_the_link_to_the_workflow_stays_on_one_line() -> None:
    to = console(60)
    with AssessmentDisplay(to) as display:
        display.show(Accepted("task", "context", URL))
    assert written(to).splitlines() == [f"workflow   {URL}"]


def test_a_turn_played_again_is_told_twice_and_not_summed() -> None:
    lines = shown(
        [
            started(),
            observed("email.mark_read"),
            started(),
            observed("chat.send_message", content="hi"),
            completed(1, 1),
        ]
    )
    assert lines == [
        "turn 1     Tue 12:00  not finished",
        says("12:00", "chat.send_message", "hi"),
    ]


def test_a_turn_without_actions_and_an_early_end_are_told() -> None:
    lines = shown(
        [started(), completed(), started(2), completed(2, early=True), EvaluationStartedUpdate(criteria_count=1)]
    )
    assert lines == [
        "turn 1     Tue 12:00  nothing done",
        says("12:00"),
        "judging    1 criterion",
    ]


def test_many_actions_are_cut_with_a_count_of_the_rest() -> None:
    actions = [observed(f"email.action{n}", subject="x" * 30) for n in range(30)]
    lines = shown([started(), *actions, completed(1, 30)], width=80)
    assert len(lines) <= 4
    assert "30 actions" in lines[0]
    assert " · and 2" in " ".join(" ".join(lines).split())


def test_milestones_alone_make_whole_lines() -> None:
    lines = shown([completed(1, 4), completed(2, 0)])
    assert lines == ["turn 1     4 actions", "turn 2     nothing done"]


@pytest.mark.parametrize(
    ("actions", "told"),
    [
        ([observed("email.label", message_ids=["1", "2", "3", "4"], labels=["urgent"])], ["email.label 4 → urgent"]),
        (
            [
                observed("email.label", message_ids=["1", "2"], labels=["urgent"]),
                observed("email.archive", message_ids=["3"]),
                observed("email.label", message_ids=["3"], labels=["noise"]),
                observed("email.label", message_ids=["4"], labels=["urgent"]),
            ],
            ["email.label 3 → urgent, 1 → noise", "email.archive"],
        ),
        (
            [observed("email.send", to_addresses=["a@x.example", "b@x.example"], subject="Re: Lunch")],
            ["email.send → a@x.example, b@x.example “Re: Lunch”"],
        ),
        ([observed("calendar.create", title="Call with Dana", start="…")], ["calendar.create “Call with Dana”"]),
        ([observed("calendar.respond", event_id="e", response="declined")], ["calendar.respond → declined"]),
        (
            [observed("chat.send_message", content="a"), observed("chat.send_message", content="b")],
            ["chat.send_message 2"],
        ),
        ([observed("weather.query")], ["weather.query"]),
        ([], []),
    ],
)
def test_actions_in_few_words(actions: list[ActionObservedUpdate], told: list[str]) -> None:
    assert phrases(actions) == told


def test_a_failed_action_says_why() -> None:
    failed = observed("email.mark_read", message_ids=["1"]).model_copy(
        update={"success": False, "error_message": "no such message"}
    )
    assert phrases([failed]) == [says("email.mark_read")]


def test_what_the_participant_wrote_cant_steer_the_terminal() -> None:
    hostile = "\x1b[2Jwiped\x07\r\n\u202eback\ud800 [red]markup[/red] \u200bend"
    assert clean(hostile) == "[2Jwiped back [red]markup[/red] end"
    lines = shown([started(), observed("chat.send_message", content=hostile), completed(1, 1)])
    assert lines == [says("12:00", "chat.send_message", "[2Jwiped back [red]markup[/red] end")]


def test_long_texts_are_cut() -> None:
    assert shorten("word " * 20, 10) == "word word…"
    assert len(shorten("x" * 100)) == 40


def report(results: AssessmentResults, width: int = 120) -> str:
    to = console(width)
    print_report(to, results, URL)
    return written(to)


def criterion(name: str, score: int, most: int, **more: Any) -> CriterionResult:
    fields = {"criterion_id": name, "name": name, "dimension": "accuracy", "explanation": "as it should be", **more}
    return CriterionResult(score=score, max_score=most, **fields)


def results_of(*criteria: CriterionResult, **more: Any) -> AssessmentResults:
    fields = {"assessment_id": "a", "scenario_id": "s", "participant": "p", "status": "completed", **more}
    return assessment_results(
        duration_seconds=1.0, turns_taken=1, criteria_results=list(criteria), action_log=[], **fields
    )


@pytest.mark.parametrize("width", [80, 120])
def test_a_recorded_result_shows_every_criterion_with_score_reason_and_judge(width: int) -> None:
    results = recorded_results()
    text = report(results, width)
    flat = "".join(text.split())
    for one in results.criteria_results:
        assert "".join(clean(one.name).split()) in flat or width == 120, one.name
        assert f"{one.score}/{one.max_score}" in text
        assert one.judged_by in text
    for name, whole in results.scores.dimensions.items():
        assert any(
            line.startswith(name.replace("_", " ")) and f"{whole.score}/{whole.max_score}" in line
            for line in text.splitlines()
        )
    overall = results.scores.overall
    assert any(
        line.startswith("overall") and f"{overall.score}/{overall.max_score}" in line for line in text.splitlines()
    )
    assert f"workflow: {URL}" in text.splitlines()


def test_what_nobody_judged_is_told_apart_from_zero() -> None:
    unscored = criterion("Tone", 0, 0, explanation="", unscored_points=5, unscored_reason="no model is configured")
    text = report(results_of(criterion("Sorting", 0, 10), unscored, offline=True))
    lines = text.splitlines()
    assert any("Sorting" in line and "0/10" in line for line in lines)
    assert any("Tone" in line and "unscored" in line for line in lines)
    assert says("15").within(lines)


def test_a_reason_that_the_explanation_gives_already_is_not_repeated() -> None:
    partly = criterion("Tone", 1, 2, explanation="No model: 1 of 2.", unscored_points=2, unscored_reason="No model")
    assert report(results_of(partly)).count("No model") == 1


def test_an_assessment_of_which_nothing_was_judged_has_no_table() -> None:
    failed = criterion("Tone", 0, 0, unscored_points=5, unscored_reason="the agent was gone")
    lines = report(results_of(failed, status="failed", failure="the agent was gone")).splitlines()
    assert says().within(lines)
    assert says().within(lines)
    assert not any(line.startswith("criterion ") for line in lines)


def test_with_doubts_the_headline_is_a_range_and_each_doubt_is_told() -> None:
    doubts = [
        Doubt(item=f"closing {n}", statement="It is over.", reason="patterns can't tell", text="Stable\nnow")
        for n in range(7)
    ]
    notices = criterion("Notices", 2, 5, doubtful_points=3, doubts=doubts)
    lines = report(results_of(notices, criterion("Sorting", 10, 15)), 110).splitlines()
    assert any(line.startswith("overall (60% to 75%)") and "12 to 15/20" in line for line in lines)
    assert any("Notices" in line and "2 to 5/5" in line for line in lines)
    assert says().within(lines)
    assert says("Stable now").within(lines)
    assert says().within(lines)


def test_turns_played_again_and_a_wrong_report_are_told() -> None:
    reported = ReportedAction(turn=1, timestamp=NOON, action="email.send", parameters={}, success=True)
    lines = report(
        results_of(
            criterion("Sorting", 1, 1),
            turn_tries={"3": 2},
            action_report=ActionReport(reported=[reported], never_happened=[reported]),
        )
    ).splitlines()
    assert says().within(lines)
    assert says().within(lines)


def test_where_a_score_comes_from_is_told_in_a_line() -> None:
    judge = ModelUse(
        model="gpt-4o", calls=3, input_tokens=12_000, output_tokens=900, cached_tokens=8_000, cost=0.019, currency="USD"
    )
    people = ModelUse(model="small", calls=1)
    provenance = Provenance(
        scenario_version="2",
        scenario_hash="a" * 64,
        evaluators="current",
        evaluators_hashes=["b" * 64],
        judges=[judge],
        characters=[people],
    )
    text = " ".join(report(results_of(criterion("One", 1, 2), provenance=provenance), 300).split())
    assert text == says("aaaaaaaaaaaa", "bbbbbbbbbbbb", "12,000", "8,000", "900", "0.0190")


def test_a_result_of_proctor_0_1_says_nothing_of_that() -> None:
    assert "from:" not in report(results_of(criterion("One", 1, 2)))


def test_a_summary_has_the_largest_losses_and_says_of_a_partial_play_that_it_is_one() -> None:
    results = recorded_results().model_copy(update={"is_partial": True, "scenario_turns": 12})
    lines = summary(results).splitlines()
    assert any(line.startswith("overall (") and ", partial" in line for line in lines)
    assert says("12", "--max-turns").within(lines)
    lost = [line for line in lines if re.match(r" *-\d+  ", line)]
    points = [int(line.split()[0]) for line in lost]
    assert points == sorted(points)
    assert len(lost) <= 3
    judges = {criterion.judged_by for criterion in results.criteria_results}
    assert not any(judge in line for line in lines for judge in judges - {"nobody"})


def summary(results: AssessmentResults, width: int = 80) -> str:
    to = console(width)
    print_report(to, results, is_whole=False, page_url=URL, details="proctor show abcdefgh --all")
    return written(to)


def test_a_summary_fits_on_a_screen_of_80_columns_and_24_lines() -> None:
    long_words = "an explanation of very many words that goes on and on " * 10
    doubts = [Doubt(item=f"item {n}", statement="s", reason="patterns can't tell", text=long_words) for n in range(9)]
    criteria = [
        criterion(f"{dimension} {n} {long_words}", 0, 5, dimension=dimension, explanation=long_words)
        for dimension in DIMENSIONS
        for n in range(4)
    ]
    doubtful = criterion("Doubtful", 0, 5, doubtful_points=5, doubts=doubts)
    unscored = criterion("Unscored", 0, 0, unscored_points=5, unscored_reason="no model")
    text = summary(results_of(*criteria, doubtful, unscored, seed=7, offline=True))
    lines = text.splitlines()
    assert len(lines) < 24
    assert max(map(len, lines[:-1])) <= 80, "but for the address, which stays whole"
    assert "s, seed 7, 1 turn" in lines
    assert says().within(lines)
    assert text.count("doubt") == 1
    assert lines[-2:] == ["details: proctor show abcdefgh --all", f"page: {URL}"]


def test_a_campaign_moves_as_a_table_with_a_line_for_all() -> None:
    to = console(is_terminal=True)
    groups = {"mine · day": 2, "theirs · day": 2}
    begun = datetime.now(UTC) - timedelta(hours=10)
    tally = Tally(total=5, done=1, running=2, waiting=2, scored=1, score=0.5)  # one was taken over
    with CampaignDisplay(to) as display:
        display.show(Accepted("run-1", "", None))
        begins = {"campaign_id": "run-1", "title": "day", "participant": "mine, theirs", "start_time": begun}
        display.show(Progress(CampaignStartedUpdate.model_validate({**begins, "tally": tally, "groups": groups})))
        display.show(Progress(ended("mine · day", 0.9, tally, done=2, succeeded=1, scored=2, score=1.4)))
        now = {"done": 3, "succeeded": 1, "failed": 1, "scored": 2, "score": 1.4, "cost": 0.25}
        display.show(Progress(ended("theirs · day", None, tally, **now)))
    said = re.sub("\x1b\\[[0-9;?]*[a-zA-Z]", "", written(to))
    last = said.rpartition("done  passed  failed  mean")[2]
    assert re.search(r"mine · day +1/2 +1 +0 +90%", last), last
    assert re.search(r"theirs · day +1/2 +0 +1 *$", last, re.MULTILINE), last
    assert says("3 of 5", "70%", "0.25", moving=MOVING).within(last)
    assert re.search(r"10:0\d:\d\d to go", last), "two took ten hours, and two are left"
    assert says("3.0 s, 90%").within(said)
    assert says("TurnTimeout").within(said)
    assert says("5 in all").within(said)


def ended(group: str, earned: float | None, before: Tally, **now: Any) -> CellEndedUpdate:
    failed = {} if earned is not None else {"failure_kind": "TurnTimeout", "failure": "It did not answer."}
    return CellEndedUpdate(
        cell_id="cell",
        label=f"{group} · seed 1",
        group=group,
        status="completed" if earned is not None else "failed",
        succeeded=earned is not None,
        score=earned,
        seconds=3.0,
        tally=before.model_copy(update=now),
        **failed,
    )


def test_what_is_under_way_is_shown_as_what_it_turns_out_to_be() -> None:
    to = console()
    with UnderWayDisplay(to) as display:
        display.show(Accepted("task-1", "", URL))
        display.show(GatewayMessage("No worker takes it."))
        for update in recorded_updates():
            display.show(Progress(update))
    said = written(to)
    assert said.index("No worker takes it.") < said.index(URL) < said.index("turn")
    assert "campaign" not in said
    as_assessment = console()
    with AssessmentDisplay(as_assessment) as display_of_one:
        display_of_one.show(Accepted("task-1", "", URL))
        for update in recorded_updates():
            display_of_one.show(Progress(update))
    assert said.replace("No worker takes it.\n", "") == written(as_assessment)


def test_a_failed_build_shows_its_last_30_lines_once_for_each_task() -> None:
    trials = [
        TrialResult(
            trial_id=f"run-{attempt}",
            trial_name=f"broken.{attempt}",
            task_id="broken",
            attempt=attempt,
            failure="The image can't be built from Dockerfile: a command failed",
            details={"build_failed": True, "log": "".join(f"line {number}\n" for number in range(50))},
        )
        for attempt in (1, 2)
    ]
    results = TerminalResults(
        run_id="run", dataset="d", participant="oracle", status="completed", n_tasks=1, n_attempts=2, n_trials=2,
        n_resolved=0, n_unresolved=2, accuracy=0, results=trials,
    )  # fmt: skip
    file = io.StringIO()
    print_build_failures(Console(file=file, width=100), build_failures(results))
    head, *lines = file.getvalue().split("\n")[1:-1]
    assert head == says()
    assert lines == [f"    line {number}" for number in range(20, 50)]
    with pytest.raises(CommandError, check=says()):
        require_built(build_failures(results))
    assert build_failures(results.model_copy(update={"results": []})) == []


def test_the_losses_of_several_participants_name_their_roles() -> None:
    results = recorded_results()
    role = RoleResults.of(results.model_copy(update={"participant": "host"}), "http://a")
    to = console(100)
    print_report(to, results.model_copy(update={"roles": [role]}), is_whole=False)
    text = written(to)
    first = losses(results)[0]
    assert f"{-first.points}  host: {first.criterion.name}" in text


def test_no_command_prints_control_characters_of_others() -> None:
    """Whoever made a table or a line of it: the console of all commands takes them out."""
    written = io.StringIO()
    console = make_console(written)
    table = plain_table("scenario")
    table.add_row("red \x1b[31m, title \x1b]0;x\x07, back \u202eward, half \ud83d")
    show(console, table)
    console.print(Text("line \x9b31m"), "plain \x1b[2J")
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e\ud800-\udfff]", written.getvalue())
    assert "red [31m, title ]0;x, back ward, half" in written.getvalue()
    announced = io.StringIO()
    announce("failed: \x1b[31m", stream=announced)
    assert announced.getvalue() == "failed: [31m\n"
