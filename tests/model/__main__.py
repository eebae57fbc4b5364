"""``python -m tests.model``: every interleaving with more trouble than the tests have time for; prints a table."""

import sys
import time

from tests.model.fences import BrokenError, Rules, explore

FURTHER = (
    ("TT", 1, 1, 1, 0),
    ("TT", 2, 1, 0, 0),
    ("TT", 2, 0, 1, 0),
    ("MT", 1, 1, 1, 0),
    ("MT", 2, 2, 0, 0),
    ("TOT", 1, 1, 1, 0),
    ("TOT", 2, 1, 0, 0),
    ("TT", 1, 1, 0, 1),
    ("TT", 1, 0, 0, 2),
    ("TT", 0, 0, 1, 1),
    ("MT", 1, 1, 0, 1),
    ("TOT", 1, 0, 0, 1),
)


def main() -> int:
    """Explore all; the number of those in which something is lost or doubled, which should be none."""
    broken = 0
    print("steps  give-ups  losses  resets  moves     states  seconds")
    for kinds, give_ups, losses, resets, moves in FURTHER:
        began = time.monotonic()
        try:
            found = explore(kinds, Rules(), give_ups=give_ups, losses=losses, resets=resets, moves=moves)
            states = f"{found:,}"
        except BrokenError as problem:
            broken += 1
            states = str(problem)
        print(
            f"{kinds:5}  {give_ups:8}  {losses:6}  {resets:6}  {moves:5}  {states:>9}  {time.monotonic() - began:7.1f}",
            flush=True,
        )
    return broken


if __name__ == "__main__":
    sys.exit(main())
