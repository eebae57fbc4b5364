"""Several participants in one assessment, side by side: each role has its own simulation, turns and verdicts.

If a participant fails for good, only its role ends; the other participants play on. The assessment then fails at its
end, with the results of all.
"""

import asyncio
from collections.abc import Awaitable, Coroutine, Iterable
from datetime import datetime
from typing import Any

from temporalio.exceptions import ActivityError, ApplicationError, is_cancelled_exception

from proctor.activities.attempts import failures
from proctor.activities.plan import Plan
from proctor.workflows.archiving import archive
from proctor.workflows.ending import notify_participant, take_down
from proctor.workflows.inputs import AssessmentInput
from proctor.workflows.judging import Judging
from proctor.workflows.participant import greet, set_up
from proctor.workflows.progress import Progress, Together
from proctor.workflows.publishing import UpdatePublisher
from proctor.workflows.steps import Steps, describe_failure
from proctor.workflows.summing_up import Ending, sum_up
from proctor.workflows.time_played import TimePlayed, seconds_played
from proctor.workflows.turns import Exchange, Turns
from purple_sdk.protocol.messages import CompletionReason
from purple_sdk.protocol.provenance import Provenance, added_up
from purple_sdk.protocol.results import (
    ActionReport,
    AssessmentResults,
    RoleResults,
    sums_of,
    unscored,
)


class Role:
    """One participant with its plan, its progress, and the objects that play, judge and publish it."""

    def __init__(self, plan: Plan, together: Together, steps: Steps, publisher: UpdatePublisher, time: TimePlayed):
        self.plan = plan
        self.name = plan.participant
        self.publisher = publisher.of_role(self.name)
        self.publisher.only_milestones = publisher.only_milestones
        self.steps = steps.of_role(self.publisher, self.name)
        self.steps.simulator = plan.simulator
        self.judging = Judging(self.steps, self.publisher, time)
        self._together = together

    @property
    def progress(self) -> Progress | None:
        """The role's progress; None before its simulation is prepared."""
        return self._together.roles.get(self.name)

    @property
    def failure(self) -> tuple[str, str] | None:
        return self._together.failed.get(self.name)

    async def open(self, started_at: datetime) -> None:
        progress, prepared = await set_up(self.steps, self.plan, started_at)
        self._together.roles[self.name] = progress
        await greet(self.steps, self.publisher, self.plan, prepared, progress)

    @property
    def turns(self) -> Turns | None:
        """The turns to play; None if the role has failed."""
        if self.failure or self.progress is None:
            return None
        return Turns(self.steps, self.publisher, self.plan, self.progress)

    async def judge(self) -> None:
        progress = self.progress
        assert progress is not None
        await self.judging.conclude(self.plan, progress)

    async def or_fail(self, work: Coroutine[Any, Any, None]) -> None:
        """Do some work. Note a failure of the participant, which ends only this role."""
        try:
            await work
        except ActivityError as error:
            kind, sentence, _ = describe_failure(error)
            if is_cancelled_exception(error) or kind not in failures.BY_PARTICIPANT:
                raise
            self._together.failed[self.name] = (kind, sentence)
            self.publisher.publish_failure(kind, sentence)

    def results(self, ending: Ending) -> AssessmentResults:
        if self.failure:
            kind, failure = self.failure
            is_timeout = kind == failures.TURN_TIMEOUT
            ending = (
                Ending("timeout", "timeout", failure, kind) if is_timeout else Ending("failed", "error", failure, kind)
            )
        elif all(criterion.criterion_id in self.judging.verdicts for criterion in self.plan.criteria):
            is_early = self.progress and self.progress.early_completion
            ending = Ending("completed", "early_completion" if is_early else "scenario_complete")
        return sum_up(self.plan, self.progress, self.judging, ending)


class Several:
    def __init__(
        self, plan: Plan, together: Together, steps: Steps, publisher: UpdatePublisher, time: TimePlayed
    ) -> None:
        self._plan = plan
        self._publisher = publisher
        self.together = together
        self.roles = [Role(role, together, steps, publisher, time) for role in plan.roles]

    async def open(self) -> None:
        await _all(role.or_fail(role.open(self.together.started_at)) for role in self.roles)

    async def play_turn(self) -> bool:
        """Play the next turn of all roles that have one, side by side; return whether there was any."""
        due = [(role, turns) for role in self.roles if (turns := role.turns) is not None and turns.is_another_due()]
        if not due:
            return False
        exchange = Exchange([role.name for role, _ in due])

        async def play(role: Role, turns: Turns) -> None:
            turns.exchange = exchange
            try:
                await role.or_fail(turns.play_next())
            finally:
                exchange.leave(role.name)

        number = max(role.progress.turn for role, _ in due if role.progress) + 1
        self._publisher.turn = number
        self._publisher.show(f"**Turn {number}** of about {self._plan.expected_turns}", begins=f"turn {number}")
        await _all(play(role, turns) for role, turns in due)
        self._publisher.turn = None
        return True

    async def judge(self) -> None:
        """Judge the roles that have not failed. If any role has failed, fail as the first one did."""
        self._publisher.show("**Closing the simulations**", begins="the judging")
        await _all(role.judge() for role in self.roles if not role.failure)
        failed = [(role, role.failure) for role in self.roles if role.failure]
        if failed:
            sentences = [f"{role.name}: {failure[1]}" for role, failure in failed]
            raise ApplicationError(" ".join(sentences), type=failed[0][1][0], non_retryable=True)

    def sum_up(self, ending: Ending) -> AssessmentResults:
        plan, parts = self._plan, [role.results(ending) for role in self.roles]
        criteria_results = (
            [unscored(criterion, ending.failure) for criterion in plan.criteria]
            if ending.failure
            else [criterion for part in parts for criterion in part.criteria_results]
        )
        action_log = [
            entry.model_copy(update={"role": part.participant}) for part in parts for entry in part.action_log
        ]
        together: dict[str, Any] = {
            "assessment_id": plan.assessment_id,
            "scenario_id": plan.scenario_id,
            "participant": plan.participant,
            "status": ending.status,
            "duration_seconds": seconds_played(self.together),
            "turns_taken": max(part.turns_taken for part in parts),
            "criteria_results": criteria_results,
            "action_log": action_log,
            "action_report": ActionReport(
                reported=[action for part in parts for action in part.action_report.reported],
                unreported=[action for part in parts for action in part.action_report.unreported],
                never_happened=[action for part in parts for action in part.action_report.never_happened],
            ),
            "completion_reason": ending.reason,
            "failure": ending.failure,
            "failure_kind": ending.failure_kind,
            "turn_tries": {},
            "is_partial": any(part.is_partial for part in parts),
            "scenario_turns": plan.scenario_turns,
            "participant_usage": [usage for part in parts for usage in part.participant_usage],
            "clarifications": [clarification for part in parts for clarification in part.clarifications],
            "provenance": self._provenance([part.provenance or Provenance() for part in parts]),
            "forked_from": plan.fork.origin if plan.fork else None,
            "roles": [RoleResults.of(part, role.participant_url) for part, role in zip(parts, plan.roles, strict=True)],
            **sums_of(criteria_results, action_log),
        }
        # All else describes the day that the roles share, and is the same for each role.
        return AssessmentResults.model_validate({**dict(parts[0]), **together})

    def _provenance(self, parts: list[Provenance]) -> Provenance:
        hashes = list(dict.fromkeys(evaluators_hash for part in parts for evaluators_hash in part.evaluators_hashes))
        together: dict[str, Any] = {
            "evaluators_hashes": hashes,
            "judges": added_up([use for part in parts for use in part.judges]),
            "characters": added_up([use for part in parts for use in part.characters]),
            "participant_url": self._plan.participant_url,
            "participant_card": None,
            "started_at": self.together.started_at,
            "seconds_played": seconds_played(self.together),
        }
        return parts[0].model_copy(update=together)

    def partings(
        self, payload: AssessmentInput, reason: CompletionReason, results: AssessmentResults | None
    ) -> Iterable[Awaitable[Any]]:
        """Yield the last steps of each role: inform its participant, end its simulation, and archive its part."""
        for role in self.roles:
            if results is not None:
                part = role.results(Ending(results.status, reason, results.failure, results.failure_kind))
                yield archive(role.steps, self._publisher, payload, role.plan, role.progress, part)
            unfinished = role.progress.tasks_left if role.progress else []
            yield notify_participant(role.steps.placed(role.plan), reason, unfinished)
            yield take_down(role.plan.simulation_id)

    def placed(self) -> Plan:
        """Return the plan with the servers of the simulations."""
        return self._plan.model_copy(update={"roles": [role.steps.placed(role.plan) for role in self.roles]})


async def _all(works: Iterable[Awaitable[None]]) -> None:
    """Do all works side by side, and wait for all of them. Of several failures, raise a cancellation first."""
    outcomes = await asyncio.gather(*works, return_exceptions=True)
    problems = [outcome for outcome in outcomes if isinstance(outcome, BaseException)]
    for problem in sorted(problems, key=lambda each: not is_cancelled_exception(each)):
        raise problem
