"""Requests become plans.

* ``activities``: a request is checked and frozen into a plan; ``queueing``: assessments of one context wait in turn
* ``origins``: where a fork finds the assessment that it continues
"""
