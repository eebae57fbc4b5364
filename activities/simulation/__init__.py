"""Simulations: set up, stepped from checkpoint to checkpoint, closed.

* ``simulations``: claim, step, look at, end; the one way in which activities get at a simulation
* ``hosts``: what a simulation and its host are to the evaluator
* ``shared_host``: the embedded simulator's server, which hosts many
* ``own_servers``, ``own_simulation``: each simulation in a UES server of its own
* ``server_process``: servers that a worker starts, with what they say
* ``keys``: every key, derived and not stored; ``states``, ``shown``: what is looked at
* ``parts``: checkpoints, and what is looked at, in parts
"""
