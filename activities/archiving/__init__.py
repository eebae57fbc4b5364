"""What has ended is archived.

* ``assessments``: the activity that writes an assessment's entry
* ``transcript``: the turns as a person would tell them
* ``states``: mailbox, messages, calendar and chat after each turn, from the checkpoints
"""
