"""Simulations: set up, stepped from checkpoint to checkpoint, closed.

* ``simulations``: claims, steps, reads and ends simulations; activities use simulations only through this module
* ``hosts``: the interface of a simulation and its host
* ``shared_host``: the embedded simulator's server, which hosts many simulations
* ``own_servers``, ``own_simulation``: each simulation in a separate UES server
* ``server_process``: servers that a worker starts, and their output
* ``keys``: derives every key, so none is stored
* ``states``, ``shown``: states as judges and archive see them
"""
