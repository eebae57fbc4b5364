"""``python -m tests.model``: every interleaving with more trouble than the tests have time for; prints a table."""

import sys
import time

from tests.model.fences import BrokenError, Rules, explore

FURTHER = (
    ("TT", 1, 1, 1, 0, False),
    ("TT", 2, 1, 0, 0, False),
    ("TT", 2, 0, 1, 0, False),
    ("MT", 1, 1, 1, 0, False),
    ("MT", 2, 2, 0, 0, False),
    ("TOT", 1, 1, 1, 0, False),
    ("TOT", 2, 1, 0, 0, False),
    ("TT", 1, 1, 0, 1, False),
    ("TT", 1, 0, 0, 2, False),
    ("TT", 0, 0, 1, 1, False),
    ("MT", 1, 1, 0, 1, False),
    ("TOT", 1, 0, 0, 1, False),
    ("TT", 1, 1, 0, 0, True),
    ("TT", 1, 0, 1, 0, True),
    ("TOTO", 1, 0, 0, 0, True),
)


def main() -> int:
    """Explore all; the number of those in which something is lost or doubled, which should be none."""
    broken = 0
    print("steps  give-ups  losses  resets  moves  late     states  seconds")
    for kinds, give_ups, losses, resets, moves, late in FURTHER:
        began = time.monotonic()
        try:
            found = explore(
                kinds, Rules(), give_ups=give_ups, losses=losses, resets=resets, moves=moves, late_actions=late
            )
            states = f"{found:,}"
        except BrokenError as error:
            broken += 1
            states = str(error)
        print(
            f"{kinds:5}  {give_ups:8}  {losses:6}  {resets:6}  {moves:5}  {late:4}  {states:>9}  "
            f"{time.monotonic() - began:7.1f}",
            flush=True,
        )
    return broken


if __name__ == "__main__":
    sys.exit(main())
