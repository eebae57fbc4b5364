"""Campaigns: many assessments of several agents, scenarios and seeds.

* ``activities``: a campaign is planned, its outcomes are kept, summed up and archived; ``plan``: its payloads
* ``assessments``: assessments as cells of a campaign
"""
