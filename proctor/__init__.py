"""The ``proctor`` command, and how services run.

* ``main``: the commands; ``errors``: how a command ends; ``settings``: configuration from flags and environment
* ``supervisor``: child processes that start in order and come back
* ``local``: the services of one machine; ``up``, ``demo``: the commands that run them
* ``caller``: an A2A caller of the gateway; ``display``, ``phrases``, ``report``: what a person sees of an assessment
* ``assess``, ``scenario_commands``, ``services``: the other commands
"""
