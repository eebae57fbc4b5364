"""Simulated people who reply to the participant.

* ``generator``: who replies, and with what
* ``messages``: the messages that reach them, and their replies
* ``prompts``: their model's prompts
* ``outgoing``: the participant's messages, read off the simulation
"""
