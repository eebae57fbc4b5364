"""What crosses the wire: messages, results, updates, scenarios, requests.

Table of contents:

* ``messages``: what the evaluator and the participant say to each other
* ``results``: the scored outcome of an assessment and its consistency checks
* ``updates``: the eleven task updates that report an assessment's progress
* ``request``: the A2A request that starts an assessment
* ``terminal``: the request for a run of Terminal-Bench trials, and what comes out of it
* ``campaigns``: the updates that tell how far a campaign is
* ``scenario``: the schema of ``scenario.json``
* ``evaluation``: what a scenario's evaluator functions get and give
* ``readings``: addresses, numbers and chat contents in one form
* ``actions``: the names of all actions
* ``durations``: ISO 8601 durations and instants
* ``problems``: validation errors as sentences
"""
