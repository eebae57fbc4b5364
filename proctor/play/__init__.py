"""``proctor play``: be the participant, in the terminal, turn by turn.

The terminal has the main thread (``desk``); evaluator, participant and call share an event loop on another one. Between
them is a table (``seat``): turns are laid on it, and answers given back.
"""
