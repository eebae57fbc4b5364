"""Everything that touches the world.

Each room has its activities and their payloads. In the order of an assessment:

* ``admission``: a request becomes a plan; ``campaign``: many of them
* ``simulation``: it is set up, stepped from checkpoint to checkpoint, and closed
* ``participant``: it is greeted, plays its turns, and is notified of the end
* ``characters``: they answer
* ``judging``: criteria are judged, with the scenario's own evaluators in ``scenario_code``
* ``archive``, ``notifications``: what remains, and who hears of it

What they share: ``plan`` (an admitted assessment), ``attempts`` (what surrounds every attempt) and ``models`` (language
models).
"""
