"""Decisions: order, retries, timeouts, and published updates.

* ``assessment``: the workflow of one assessment; ``participant``, ``turns``, ``judging``, ``summing_up`` are its parts
* ``steps``, ``publishing``, ``time_played``, ``context_queue``, ``ending``: shared by workflows of any kind
* ``context_queue``: the assessments of one A2A context, one after another
* ``notifications``: updates of a task for a webhook
* ``names``, ``inputs``: names and inputs for starting, finding and reading workflows
"""
