"""A participant of Terminal-Bench that a language model drives: it gets a task, and runs commands in its container.

Needs ``pip install 'proctor-purple[assistant]'``, or proctor itself.
"""
