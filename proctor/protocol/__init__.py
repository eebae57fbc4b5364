"""Messages, results, updates, scenarios and requests: everything that crosses the wire.

Table of contents:

* ``messages``: the messages between evaluator and participant
* ``results``: the scored outcome of an assessment and its consistency checks
* ``updates``: the eleven task updates that report an assessment's progress
* ``request``: the A2A request that starts an assessment
* ``terminal``: the request for a run of Terminal-Bench trials, and the results
* ``campaigns``: the updates that report a campaign's progress
* ``scenario``: the schema of ``scenario.json``
* ``evaluation``: the input and output of a scenario's evaluator functions
* ``readings``: addresses, numbers and chat contents in one form
* ``actions``: the names of all actions
* ``durations``: ISO 8601 durations and instants
* ``problems``: validation errors as sentences
"""
