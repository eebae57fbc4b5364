"""Messages, results, updates, scenarios and requests: everything that crosses the wire.

``purple_sdk.protocol`` has the messages, requests and results that participants and callers use. This package has

* ``updates``: the eleven task updates that report an assessment's progress
* ``runs``: the request for a campaign of assessments, and its results
* ``campaigns``: the updates that report a campaign's progress
* ``scenario``: the schema of ``scenario.json``
* ``evaluation``: the input and output of a scenario's evaluator functions
* ``archive``: the files of an archive entry
* ``judgements``: second judgements of archived assessments
* ``wire_schemas``: the JSON Schemas of all messages
"""
