"""``proctor play``: be the participant, in the terminal, turn by turn.

The terminal has the main thread (``shell``); evaluator, participant and call share an event loop on another one. A
queue of turns (``participant``) connects them; each turn carries the answer back.
"""
