"""Scenario packages, and the confined processes that run their code.

* ``processes``: runs their code, in processes that ``nursery`` forks, ``confinement`` limits and ``tasks`` tells what
  to do; ``frames`` is how the two sides talk, ``relayed_model`` how evaluators reach the judge's model
* ``manager``: finds and loads them
* ``initial_states``: the simulation that an assessment begins with
* ``evaluator_modules``: their Python code
"""
