"""What has ended is archived.

* ``assessments``, ``trials``, ``campaigns``: the activities that write an entry of each
* ``lines``: JSON Lines, and updates as workflows hand them on
* ``transcript``: the turns as a person would tell them
* ``states``: mailbox, messages, calendar and chat after each turn, from the checkpoints
"""
