"""Campaigns: many assessments of several agents, scenarios and seeds.

* ``activities``: a campaign is planned, its outcomes are kept and summed up; ``plan``: its payloads
* ``assessments``: assessments as cells of a campaign; ``taking_over``: cells of an earlier campaign
* ``archiving``: a campaign's entry in the archive
"""
