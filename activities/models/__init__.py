"""Language models: providers, limits, usage, structured answers.

* ``factory``: clients of the APIs, by model name
* ``usage``, ``counting``: calls, tokens and costs
* ``structured``: answers that match a schema
* ``prompts``: untrusted text in prompts
"""
