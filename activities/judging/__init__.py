"""Judging of criteria.

* ``verdicts``: the activity
* ``judge``: chooses the kind of judge for a criterion
* ``by_evaluator``: judging by an evaluator function in a separate process
* ``asked_models``: the models that judge a criterion or answer an evaluator
* ``rubric``: judging by items with mechanical checks
* ``panel``, ``model_judge``, ``records``: judging by models, and their evidence
* ``facts_by_model``: a model finds facts in texts for evaluators
* ``cases``, ``agreement``, ``calibration``: measure a judge by cases with known verdicts
"""
