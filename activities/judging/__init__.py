"""Criteria are judged.

* ``judge``: one criterion that has no evaluator function
* ``evaluators``: a criterion by its evaluator function, in a process of its own
* ``rubric``: items with mechanical checks
* ``evidence``: what is judged, as it is kept
* ``model_judge``, ``records``: items that a model judges, and what it is shown
* ``facts_asked``, ``facts_by_model``: what evaluators look for in texts, read by a model
* ``cases``, ``agreement``, ``calibration``: how well a model judges, by cases whose verdict is known
* ``json_safe``: what evaluators return, made fit for a result
"""
