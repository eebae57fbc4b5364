"""Scores.

* ``judge``: one criterion that has no evaluator function
* ``evaluators``: a criterion by its evaluator function, in a process of its own
* ``rubric``: items with mechanical checks
* ``model_judge``, ``evidence``: items that a model judges, and what it is shown
* ``json_safe``: what evaluators return, made fit for a result
"""
