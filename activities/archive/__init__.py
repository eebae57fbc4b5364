"""Archiving of ended assessments.

* ``assessments``: the activity that writes an assessment's entry
* ``payloads``: the activity's input, and JSON Lines
* ``transcript``: describes each turn in words, with the mailbox, messages, calendar and chat after it
* ``elsewhere``: runs work that takes much memory in a separate process
"""
