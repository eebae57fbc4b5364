"""Scores.

* ``judge``: one criterion, by whatever way it is judged
* ``rubric``: items with mechanical checks
* ``model_judge``, ``evidence``: items that a model judges, and what it is shown
* ``json_safe``: what evaluators return, made fit for a result
"""
