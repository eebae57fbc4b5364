"""Scenario packages: directories with ``scenario.json`` and ``evaluators.py``.

* ``manager``: finds and loads them
* ``initial_states``: the simulation that an assessment begins with
* ``evaluator_modules``: their Python code
"""
