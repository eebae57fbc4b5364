"""Scenario packages, and the confined processes that run their code.

* ``processes``: runs their code, in processes that ``fork_server`` forks and ``confinement`` limits; ``tasks`` has the
  processes' work, ``frames`` their messages, ``relayed_model`` the evaluators' access to the judge's model
* ``manager``: finds and loads them
* ``initial_states``: the simulation that an assessment begins with
* ``evaluator_modules``: their Python code
"""
