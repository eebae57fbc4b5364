"""The result of an assessment as a table: dimensions and criteria, scores, explanations, and who judged."""

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from proctor.common.console import plain_table, show
from proctor.common.phrases import clean, counted, shorten
from proctor.protocol.losses import losses
from purple_sdk.protocol.provenance import ModelUse, Provenance
from purple_sdk.protocol.results import DIMENSIONS, AssessmentResults, CriterionResult, DimensionScore, OverallScore

_WIDE = 110  # width from which on explanations have a separate column
_JUDGE_WIDTH = 30
_DOUBTS_TOLD = 5
_LONGEST_DOUBT = 80
_LOSSES_SHOWN = 3
_MOST_WARNINGS = 2


def print_report(
    console: Console,
    results: AssessmentResults,
    workflow_url: str | None = None,
    *,
    with_failure: bool = True,
    is_whole: bool = True,
    page_url: str | None = None,
    details: str | None = None,
) -> None:
    """Print an assessment's scores, remarks and largest losses, and where to find more.

    Args:
        with_failure: print why the assessment failed, which some commands do themselves.
        is_whole: print every criterion and remark, not a summary that fits on a screen of 80 columns and 24 lines.
        details: the command that prints the whole result, for the summary.
    """
    console.print()
    if results.roles:
        show(console, _roles(results))
        console.print()
        results = _with_roles_named(results)
    if results.scores.overall.max_score:
        show(console, _scores(console, results) if is_whole else _dimensions(results))
        console.print()
    else:
        points = sum(c.unscored_points for c in results.criteria_results)
        criteria = counted(len(results.criteria_results), "criterion", "criteria")
        show(console, Text(f"nothing was judged: {criteria}, {counted(points, 'point')}"))
    is_told = results.seed in (None, results.instance_seed)  # the day's name has the seed
    seed = "" if is_told else f", seed {results.seed}"
    show(console, Text(f"{clean(results.day)}{seed}, {counted(results.turns_taken, 'turn')}"))
    for remark in _remarks(results, is_whole=is_whole):
        show(console, Text(remark))
    if not is_whole and results.scores.overall.max_score:
        show(console, _losses(console, results))
    if results.failure and with_failure:
        show(console, Text(f"failure: {clean(results.failure)}"))
    if details and not is_whole:
        console.print(Text(f"details: {details}"), soft_wrap=True)
    if page_url:
        console.print(Text(f"page: {clean(page_url)}"), soft_wrap=True)
    if workflow_url and is_whole:
        console.print(Text(f"workflow: {clean(workflow_url)}"), soft_wrap=True)


def _roles(results: AssessmentResults) -> Table:
    table = plain_table("role", "agent", numbers=("turns", "score"))
    table.add_column("status", overflow="fold")
    for role in results.roles:
        ended = f"{role.status}: {clean(role.failure)}" if role.failure else role.status
        turns, score = Text(str(role.turns_taken)), _score(role.scores.overall)
        table.add_row(Text(role.role), Text(clean(role.participant_url)), turns, score, Text(ended))
    return table


def _with_roles_named(results: AssessmentResults) -> AssessmentResults:
    """The results of several participants. Each criterion's name begins with its role."""
    role_of = {criterion: role.role for role in results.roles for criterion in role.criteria}
    named = [
        criterion.model_copy(update={"name": f"{role_of[criterion.criterion_id]}: {criterion.name}"})
        for criterion in results.criteria_results
    ]
    return results.model_copy(update={"criteria_results": named})


def _dimensions(results: AssessmentResults) -> Table:
    table = plain_table("", numbers=("",), show_header=False)
    for dimension in DIMENSIONS:
        if any(c.dimension == dimension for c in results.criteria_results):
            table.add_row(Text(dimension.replace("_", " ")), _score(results.scores.dimensions[dimension]))
    _add_overall(table, results)
    return table


def _add_overall(table: Table, results: AssessmentResults) -> None:
    overall = results.scores.overall
    partial = ", partial" if results.is_partial else ""
    table.add_row(Text(f"overall{_share(overall)}{partial}", style="bold"), _score(overall, style="bold"))


def _scores(console: Console, results: AssessmentResults) -> Table:
    is_wide = console.width >= _WIDE
    earned_by = {loss.criterion.criterion_id: loss.earns for loss in losses(results)}
    table = plain_table(expand=True)
    table.add_column("criterion", ratio=3, overflow="fold")
    table.add_column("score", justify="right", no_wrap=True)
    if is_wide:
        table.add_column("why", ratio=6, overflow="fold")
        table.add_column("judged by", max_width=_JUDGE_WIDTH, overflow="fold")
    for dimension in DIMENSIONS:
        criteria = [c for c in results.criteria_results if c.dimension == dimension]
        if not criteria:
            continue
        whole = results.scores.dimensions[dimension]
        name = Text(dimension.replace("_", " "), style="bold cyan")
        table.add_row(name, _score(whole, style="bold"))
        for criterion in criteria:
            why = _why(criterion, earned_by.get(criterion.criterion_id))
            table.add_row(*_row(criterion, why, is_wide=is_wide))
    _add_overall(table, results)
    return table


def _losses(console: Console, results: AssessmentResults) -> RenderableType:
    """The largest losses. Each has two lines, and the second is cut at the screen's width."""
    all_losses = losses(results)
    if not all_losses:
        return Text("no point was lost")
    lines: list[RenderableType] = [Text("Largest losses:", style="bold")]
    for loss in all_losses[:_LOSSES_SHOWN]:
        criterion = loss.criterion
        heading = f"{clean(criterion.name)} ({criterion.score_text}/{criterion.max_score})"
        lines.append(Text(f"{-loss.points:>3}  {shorten(heading, console.width - 6)}"))
        why = f"not met: {'; '.join(loss.missing)}" if loss.missing else criterion.explanation
        lines.append(Padding(Text(shorten(why, console.width - 6), style="dim"), (0, 0, 0, 5)))
    if len(all_losses) > _LOSSES_SHOWN:
        points = sum(loss.points for loss in all_losses[_LOSSES_SHOWN:])
        lines.append(Text(f"and {counted(points, 'point')} in {len(all_losses) - _LOSSES_SHOWN} more criteria"))
    return Group(*lines)


def _share(overall: OverallScore) -> str:
    if not overall.max_score:
        return ""
    least = f"{overall.score / overall.max_score:.0%}"
    most = f"{(overall.score + overall.doubtful_points) / overall.max_score:.0%}"
    return f" ({least})" if least == most else f" ({least} to {most})"


def _row(criterion: CriterionResult, why: Text, *, is_wide: bool) -> tuple[RenderableType, ...]:
    name, judge = Padding(Text(clean(criterion.name)), (0, 0, 0, 2)), clean(criterion.judged_by)
    if is_wide:
        return name, _score(criterion), why, Text(judge, style="dim")
    return Group(name, Padding(why.append(f" ({judge})", style="dim"), (0, 0, 0, 4))), _score(criterion)


def _score(scored: CriterionResult | DimensionScore | OverallScore, style: str = "") -> Text:
    if scored.max_score == 0:
        return Text("unscored", style="yellow")
    share = scored.score / scored.max_score
    colour = "green" if share >= 0.8 else "yellow" if share >= 0.4 else "red"
    return Text(f"{scored.score_text}/{scored.max_score}", style=f"{style} {colour}".strip())


def _why(criterion: CriterionResult, earned_by: str | None) -> Text:
    text = Text(clean(criterion.explanation))
    if earned_by:
        text.append(f" [earned by: {clean(earned_by)}]", style="dim")
    reason = clean(criterion.unscored_reason or "no reason given")
    if criterion.unscored_points and reason not in text.plain:
        text.append(f" [{criterion.unscored_points} points unscored: {reason}]", style="yellow")
    return text


def _remarks(results: AssessmentResults, *, is_whole: bool) -> list[str]:
    """Remarks that a reader of the score needs. The summary has only the number of doubts."""
    warnings = results.judge_warnings if is_whole else results.judge_warnings[:_MOST_WARNINGS]
    remarks = [*_origins(results), *_coverage(results), *(f"warning: {clean(warning)}" for warning in warnings)]
    if more := len(results.judge_warnings) - len(warnings):
        remarks.append(f"and {counted(more, 'warning')} more")
    remarks += [*(_doubts(results) if is_whole else _doubts(results)[:1]), *_own_report(results)]
    remarks += map(clean, results.remarks)
    if is_whole and results.provenance is not None:
        remarks.append(_provenance(results.provenance))
    return remarks


def _origins(results: AssessmentResults) -> list[str]:
    remarks = []
    if results.is_partial:
        whole = f" of about {results.scenario_turns}" if results.scenario_turns else ""
        remarks.append(
            f"a partial play: {counted(results.turns_taken, 'turn')}{whole}, as --max-turns asks; the score is of all "
            "points of the scenario, those of the other turns, too"
        )
    if results.forked_from and results.forked_from.turn > 1:
        remarks.append(f"a fork: {results.forked_from.inherited_in_words()}, and the score is of the whole day")
    if results.turn_tries:
        turns = ", ".join(f"turn {turn} ({tries} tries)" for turn, tries in results.turn_tries.items())
        remarks.append(f"played more than once: {turns}")
    return remarks


def _coverage(results: AssessmentResults) -> list[str]:
    if not 0 < results.coverage < 1:
        return []
    points = sum(c.unscored_points for c in results.criteria_results)
    why = ", since no model judges (offline)" if results.offline else ""
    return [f"{points} of {results.scores.overall.max_score + points} points are unscored{why}"]


def _own_report(results: AssessmentResults) -> list[str]:
    report = results.action_report
    if not (report.unreported or report.never_happened):
        return []
    return [
        f"the agent's own report: {counted(len(report.unreported), 'action')} left out, "
        f"{len(report.never_happened)} reported that never happened"
    ]


def _doubts(results: AssessmentResults) -> list[str]:
    """The undecided facts, and the points that they may be worth."""
    doubts = [(criterion, doubt) for criterion in results.criteria_results for doubt in criterion.doubts]
    if not doubts:
        return []
    most = counted(results.scores.overall.doubtful_points, "point")
    sentences = [
        f"in doubt, counted as not met: {clean(criterion.name)}: {clean(doubt.item)} ({clean(doubt.reason)}"
        + (f": “{shorten(doubt.text, _LONGEST_DOUBT)}”)" if doubt.text else ")")
        for criterion, doubt in doubts[:_DOUBTS_TOLD]
    ]
    if len(doubts) > _DOUBTS_TOLD:
        sentences.append(f"and {counted(len(doubts) - _DOUBTS_TOLD, 'doubt')} more, in the result's criteria")
    return [f"{counted(len(doubts), 'doubt')}, worth at most {most}", *sentences]


def _provenance(provenance: Provenance) -> str:
    version = f" version {clean(provenance.scenario_version)}" if provenance.scenario_version else ""
    parts = [f"scenario{version} {(provenance.scenario_hash or 'not frozen')[:12]}"]
    parts += [f"reader {provenance.reader}"] if provenance.reader else []
    if provenance.evaluators in ("current", "mixed"):
        hashes = ", ".join(evaluators_hash[:12] for evaluators_hash in provenance.evaluators_hashes)
        parts.append(f"evaluators not those of admission ({provenance.evaluators}: {hashes})")
    for role, uses in (("judges", provenance.judges), ("characters", provenance.characters)):
        parts += [f"{role} {_use(use)}" for use in uses]
    if provenance.drafts is not None:
        parts.append(provenance.drafts.sentence())
    return f"from: {'; '.join(parts)}"


def _use(use: ModelUse) -> str:
    tokens = ", ".join(
        f"{'unknown' if count is None else f'{count:,}'} {what}"
        for count, what in (
            (use.input_tokens, "tokens in"),
            (use.cached_tokens, "of them cached"),
            (use.output_tokens, "out"),
        )
    )
    cost = "cost unknown" if use.cost is None else f"{use.cost:.4f} {clean(use.currency or '')}".strip()
    return f"{clean(use.model)} ({counted(use.calls, 'call')}, {tokens}, {cost})"
