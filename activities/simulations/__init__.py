"""Simulations: where they live, what opens them, and how they go from checkpoint to checkpoint.

* ``checkpoints``: create, restore, look up, end; the one way in which activities get at a simulation
* ``hosts``: what a simulation is to the evaluator, and the shared server that hosts many of them
* ``own_servers``, ``own_simulation``: each simulation in a UES server of its own
* ``server_process``: servers that a worker starts, with what they say
* ``keys``: every key, derived and not stored
"""
