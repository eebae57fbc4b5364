"""The A2A server in front of Temporal.

* ``server``: the HTTP application and the process that serves it
* ``handler``: the A2A methods
* ``starting``: a message to a workflow, once, however often it is sent
* ``output_modes``: callers that take text or JSON only
* ``tasks``: workflows as A2A tasks
* ``contexts``: context ids as Temporal keeps them
* ``listing``: ``ListTasks`` as queries to Temporal's visibility store
* ``subscriptions``: a workflow's update stream, read once for all who listen
* ``events``: updates and results as A2A stream events
* ``task_events``: all events of a task, for streams and webhooks
* ``webhooks``: push notifications, each a workflow of its own
* ``parts``: what A2A asks of a message, and JSON to and from its parts
* ``temporal``: the connection to Temporal, and its errors as A2A errors
* ``logs``: refused requests as lines
* ``watching``: whether the gateway lives and can serve, and what it counts
* ``metrics``: what that is
* ``limits``: how large a request may be
* ``legacy``: what a2a-sdk's protocol 0.3 leaves out
* ``auth``: callers, their tokens and their quotas
* ``card``: the agent card
"""
