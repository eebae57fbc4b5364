"""Language models: providers, limits, usage, structured answers.

* ``factory``: the APIs, by model name
* ``usage``, ``counting``: what is asked of them, and what it costs
* ``structured``: answers with a shape
* ``prompts``: untrusted text in prompts
"""
