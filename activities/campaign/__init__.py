"""Campaigns: many assessments of several agents, scenarios and seeds.

* ``activities``: plan a campaign, store its outcomes, sum them up and archive them
* ``plan``: the payloads of these activities
* ``assessments``: assessments as cells of a campaign
"""
