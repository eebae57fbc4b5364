"""Ended assessments are archived.

* ``assessments``, ``trials``, ``campaigns``: the activities that write an entry of each
* ``payloads``: what they get, and JSON Lines
* ``transcript``: the turns as a person would tell them, and the mailbox, messages, calendar and chat after each
* ``elsewhere``: what takes much memory, in a process of its own
"""
