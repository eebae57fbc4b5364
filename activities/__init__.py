"""The code that does input and output: it uses simulators, participants, models and stores.

Each package has some activities and their payloads. In the order of an assessment:

* ``admission``: a request becomes a plan
* ``campaign``: many assessments are planned and summed up
* ``simulation``: the simulation is set up, stepped from checkpoint to checkpoint, and closed
* ``participant``: the participant is greeted, plays its turns, and is notified of the end
* ``characters``: the characters answer
* ``judging``: criteria are judged, with the scenario's own evaluators in ``scenario_code``
* ``archive``, ``notifications``: results are archived and reported

All packages share ``plan`` (an admitted assessment), ``attempts`` (guards that run around each attempt) and ``models``
(language models).
"""
