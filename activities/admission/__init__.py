"""Admission: requests become plans.

* ``activities``: checks a request and freezes it into a plan; ``queueing``: makes assessments of one context wait in
  turn
* ``origins``: finds the assessment that a fork continues
"""
