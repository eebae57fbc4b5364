"""A participant's simulation is prepared: of the scenario's beginning, or of what a fork inherits."""

from datetime import datetime

from activities.admission.fork_plan import ForkSetUp
from activities.admission.forks import ForkActivities
from activities.plan import Plan
from activities.simulation.lifecycle import LifecycleActivities
from activities.simulation.payloads import Prepared
from workflows import limits
from workflows.progress import Progress
from workflows.steps import Steps


async def set_up(steps: Steps, plan: Plan, started_at: datetime) -> tuple[Progress, Prepared]:
    """Prepare the simulation; returns the progress so far, and the state that the participant finds."""
    options = limits.prepared(f"prepare {plan.scenario_id}")
    if plan.fork:
        fork: ForkSetUp = await steps.do(ForkActivities.set_up_fork, plan, **options)
        steps.simulator = fork.now.simulator
        return Progress.of_fork(started_at, fork), fork.now
    prepared: Prepared = await steps.do(LifecycleActivities.set_up, plan, **options)
    steps.simulator = prepared.simulator
    progress = Progress(
        started_at=started_at, prepared=prepared, checkpoint=prepared.checkpoint, current_time=prepared.current_time
    )
    return progress, prepared
