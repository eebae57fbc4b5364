"""Language models.

* ``factory``: the APIs, by model name
* ``structured``: answers with a shape
* ``prompts``: untrusted text in prompts
"""
