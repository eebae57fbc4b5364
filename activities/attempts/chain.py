"""The ordered list of the guards around an activity.

From the outside in, with the reason for each place:

1. *Observing* counts and logs the attempt as a whole, with its failure as Temporal gets it.
2. *Timing* notes when the attempt began, before anything asks how long the step has been tried.
3. *Heartbeats* are sent while all guards below run, even while a result is stored or a simulator is awaited.
4. *Troubles* reports a failure to the workflow if it will be retried. It is outside scrubbing, to report clean text.
5. *Keeping* stores a large result, patiently and with heartbeats. It must get the scrubbed result.
6. *Scrubbing* takes secrets out of the result, the failure and the notes of the attempt.
7. *Fencing* explains a refused fence in a sentence, which is scrubbed like any other.
8. *Giving up* makes the failure of a lost blob final. Without it, *troubles* would announce another attempt.
9. *Moving* replaces the failure of a lost simulator by a failure that names another server. It must see the original.

A worker of several processes has one more guard outside all others. It reports to the parent process which attempts are
running (``proctor.service.handing_back``).
"""

from collections.abc import Sequence

from temporalio.worker import Interceptor

from proctor.activities.attempts.around import Around, Guard
from proctor.activities.attempts.elapsed import timing
from proctor.activities.attempts.fencing import fencing
from proctor.activities.attempts.heartbeats import Heartbeats
from proctor.activities.attempts.lost_blobs import giving_up
from proctor.activities.attempts.metrics import observing
from proctor.activities.attempts.patience import keeping
from proctor.activities.attempts.scrubbing import Scrubbing
from proctor.activities.attempts.troubles import troubles


def chain(beats: Heartbeats, scrubbing: Scrubbing, outside: Guard | None, moving: Guard | None) -> list[Interceptor]:
    """Return the interceptors of a worker, the outermost first.

    Args:
        beats: the worker's heartbeats; ``beat_through`` starts them when the worker is made.
        scrubbing: removes the secrets.
        outside: a guard around all others, if there is one.
        moving: the guard that names another simulator; None if attempts don't use the shared simulators.
    """
    guards: Sequence[Guard | Interceptor | None] = (
        outside,
        observing,
        timing,
        beats,
        troubles,
        keeping,
        scrubbing,
        fencing,
        giving_up,
        moving,
    )
    return [guard if isinstance(guard, Interceptor) else Around(guard) for guard in guards if guard is not None]
