"""Adapters that run any A2A agent in the official harnesses of terminal tasks: Terminal-Bench's ``tb`` and Harbor.

The modules can be imported without the harnesses, which ``pip install 'proctor-purple[harnesses]'`` installs (Python
3.12+).
"""
