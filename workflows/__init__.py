"""Workflows, which decide on the order of steps, retries, timeouts and published updates.

* ``assessment``: the workflow of one assessment; its parts are ``participant``, ``turns``, ``judging`` and
  ``summing_up``
* ``steps``, ``publishing``, ``time_played``, ``ending``: code that workflows of any kind share
* ``context_queue``: runs the assessments of one A2A context one after another
* ``notifications``: sends updates of a task to a webhook
* ``names``, ``inputs``: names and inputs for starting, finding and reading workflows
"""
