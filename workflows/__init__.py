"""Decisions: order, retries, timeouts, what is published.

* ``assessment``: the story of one assessment; ``participant``, ``turns``, ``judging``, ``summing_up`` are its chapters
* ``steps``, ``telling``, ``time_played``, ``place_in_context``, ``ending``: what stories of any kind have in common
* ``context_queue``: the assessments of one A2A context, one after another
* ``notifications``: a webhook that hears of a task
* ``names``, ``inputs``: what others need to start, find and read them
"""
