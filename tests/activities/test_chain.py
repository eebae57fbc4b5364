"""What surrounds an activity, in its order."""

from typing import Any

from temporalio.testing import ActivityEnvironment
from temporalio.worker import ActivityInboundInterceptor, ExecuteActivityInput

from proctor.activities.attempts import chain as chain_module
from proctor.activities.attempts.around import Around
from proctor.activities.attempts.chain import chain
from proctor.activities.attempts.heartbeats import Heartbeats
from proctor.activities.attempts.scrubbing import Scrubbing


async def outside(_input: Any, proceed: Any) -> Any:
    return await proceed()


async def moving(_input: Any, proceed: Any) -> Any:
    return f"[{await proceed()}]"


def test_the_order() -> None:
    """Each place has a reason, which the module's docstring gives: a change of the order is a change of these."""
    beats, scrubbing = Heartbeats(), Scrubbing("a secret", lambda _simulation: ())
    found = [link._guard if type(link) is Around else link for link in chain(beats, scrubbing, outside, moving)]
    names = ("observing", "timing", "troubles", "keeping", "fencing", "giving_up")
    observing, timing, troubles, keeping, fencing, giving_up = (getattr(chain_module, name) for name in names)
    assert found == [outside, observing, timing, beats, troubles, keeping, scrubbing, fencing, giving_up, moving]


def test_what_a_worker_does_not_have_is_left_out() -> None:
    beats, scrubbing = Heartbeats(), Scrubbing("a secret", lambda _simulation: ())
    assert len(chain(beats, scrubbing, None, None)) == len(chain(beats, scrubbing, outside, moving)) - 2


async def test_a_guard_gets_the_input_and_decides_on_the_result() -> None:
    class Innermost(ActivityInboundInterceptor):
        def __init__(self) -> None:
            pass

        async def execute_activity(self, input: ExecuteActivityInput) -> Any:  # noqa: A002
            return input.args[0]

    given: Any = ExecuteActivityInput(fn=moving, args=("done",), executor=None, headers={})
    assert await ActivityEnvironment().run(Around(moving).intercept_activity(Innermost()).execute_activity, given) == (
        "[done]"
    )
