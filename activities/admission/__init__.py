"""Admission: requests become plans.

* ``activities``: checks a request and freezes it into a plan
* ``queueing``: lets the assessments of one context run one after another
* ``origins``: finds the assessment that a fork continues
"""
