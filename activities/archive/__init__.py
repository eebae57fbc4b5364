"""Archiving of ended assessments.

* ``assessments``, ``trials``, ``campaigns``: the activities that write an entry of each
* ``payloads``: their inputs, and JSON Lines
* ``transcript``: the turns in words, and the mailbox, messages, calendar and chat after each
* ``elsewhere``: runs work that takes much memory in a separate process
"""
