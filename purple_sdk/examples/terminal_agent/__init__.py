"""A participant of Terminal-Bench driven by a language model: it gets a task, and runs commands in its container.

Needs ``pip install 'proctor-purple[assistant]'``, or proctor itself.
"""
