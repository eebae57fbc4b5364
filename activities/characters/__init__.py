"""Simulated people.

* ``generator``: who answers, and what
* ``prompts``: what their model is told
* ``outgoing``: the participant's messages that reach them
"""
