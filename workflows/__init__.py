"""Decisions: order, retries, timeouts, what is published.

* ``assessment``: the workflow of one assessment; ``participant``, ``turns``, ``judging``, ``summing_up`` are its parts
* ``steps``, ``publishing``, ``time_played``, ``context_queue``, ``ending``: shared by workflows of any kind
* ``context_queue``: the assessments of one A2A context, one after another
* ``notifications``: a webhook that hears of a task
* ``names``, ``inputs``: what others need to start, find and read them
"""
