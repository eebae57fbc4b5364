"""Simulated people who reply to the participant.

* ``generator``: chooses who replies, and writes the replies
* ``messages``: messages to characters, and their replies
* ``prompts``: the prompts of the characters' model
* ``outgoing``: the participant's messages, read from the simulation
"""
