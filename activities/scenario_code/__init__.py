"""Scenario packages, and the confined processes that run their code.

* ``processes``: runs packages' code in processes; ``fork_server`` forks these processes, and ``confinement`` limits
  them
* ``tasks``: the work of these processes; ``frames``: their messages
* ``relayed_model``: gives evaluators access to the judge's model
* ``manager``: finds and loads packages
* ``initial_states``: the state with which a simulation begins
* ``evaluator_modules``: imports packages' Python code
"""
