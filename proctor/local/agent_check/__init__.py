"""``proctor check-agent``: a miniature assessment that shows an agent's strengths and faults.

* ``day.json``: the scenario, which has a user, two mails and two turns
* ``watch``: records the agent's requests to the simulator, and can delay them
* ``playing``: plays the assessment, and records the evidence
* ``checks``: the checks of the evidence
* ``checks.toml``: the fix for each check
* ``command``: the command, and its table
"""
