"""Criteria are judged.

* ``verdicts``: the activity; ``judge``: which way a criterion is judged
* ``by_evaluator``: by an evaluator function, in a process of its own; ``asked_models``: the models that it may ask
* ``rubric``: by items with mechanical checks
* ``panel``, ``model_judge``, ``records``: by models, and what they are shown
* ``facts_by_model``: what evaluators look for in texts, read by a model
* ``cases``, ``agreement``, ``calibration``: how well a model judges, by cases whose verdict is known
"""
