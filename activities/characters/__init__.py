"""Simulated people who answer the participant.

* ``generator``: who answers, and what
* ``messages``: what reaches them, and what they answer
* ``prompts``: their model's prompts
* ``outgoing``: the participant's messages, read off the simulation
"""
