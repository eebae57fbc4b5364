"""Ended assessments are archived.

* ``assessments``, ``trials``, ``campaigns``: the activities that write an entry of each
* ``lines``: JSON Lines, and updates as workflows hand them on
* ``transcript``: the turns as a person would tell them, and the mailbox, messages, calendar and chat after each
* ``elsewhere``: what takes much memory, in a process of its own
"""
