"""``proctor play``: a person is the participant, in the terminal, turn by turn.

The terminal uses the main thread (``shell``). The participant and the call share an event loop on another thread. A
queue of turns (``participant``) connects the two threads, and each turn carries the person's answer back.
"""
