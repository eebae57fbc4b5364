"""The time, by any clock, that the code of one day or package may take: for making and for loading it, in all tries."""

import time
from collections.abc import Iterator
from contextlib import contextmanager

from temporalio import activity

from proctor.activities.attempts import notes
from proctor.activities.attempts.elapsed import since_scheduled

IN_ALL_TRIES = 180.0
"""Seconds. A try of the admission ends after a minute: on a busy machine, a process may never come to the end of its
own time within one try.
"""


class Allowance:
    """What is left of this time for one day or package, ``what``, to all processes that are at it; without a name, to
    one process in this try.

    Tries of a local activity follow each other at once, so all time since the first counts. Another one may wait for
    workers: each try notes what it has used. What runs out of time fails for good.
    """

    def __init__(self, what: str = "") -> None:
        self._what = what
        info = activity.info() if what and activity.in_activity() else None
        self._notes = info is not None and info.heartbeat_timeout is not None
        self._used = 0.0
        if self._notes:
            self._used = sum(each.seconds for each in notes.noted(notes.SpentNote) if each.what == what)
        elif info is not None and info.is_local:
            self._used = since_scheduled().total_seconds()

    def left(self) -> float:
        return IN_ALL_TRIES - self._used

    @contextmanager
    def in_use(self) -> Iterator[None]:
        began = time.monotonic()
        try:
            yield
        finally:
            seconds = time.monotonic() - began
            self._used += seconds
            if self._notes:
                notes.note(notes.SpentNote(what=self._what, seconds=seconds))
