"""Requests become plans.

* ``activities``: a request is checked and frozen into a plan; ``queueing``: assessments of one context wait in turn
* ``forks``, ``fork_plan``: an assessment continues from a turn of another one; ``origins``: where that one is found
"""
